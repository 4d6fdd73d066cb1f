import type { AttemptResult } from './job.ts';

/**
 * Error classes of attempts. Counts are stored in this order, so new classes must be appended.
 * - 2xx to 5xx: a response other than 200; 429 is a separate class
 * - timeout: no complete response in time
 * - blocked: the address is not permitted
 * - connection: the connection broke, or any other error
 */
export const errorClasses = [
  '2xx',
  '3xx',
  '4xx',
  '429',
  '5xx',
  'timeout',
  'blocked',
  'connect',
  'proxy',
  'dns',
  'tls',
  'connection',
] as const;

export type ErrorClass = (typeof errorClasses)[number];

/** Returns undefined for a successful attempt. */
export function errorClassOf({
  error,
  statusCode,
}: Pick<AttemptResult, 'error' | 'statusCode'>): ErrorClass | undefined {
  if (error === '') return undefined;
  const cause = error.slice(0, error.indexOf(':'));
  if (cause === 'status') return statusClass(statusCode);
  return errorClasses.find((name) => name === cause) ?? 'connection';
}

function statusClass(statusCode: number): ErrorClass {
  if (statusCode === 429) return '429';
  return errorClasses.find((name) => name === `${Math.floor(statusCode / 100)}xx`) ?? 'connection';
}
