import type { AttemptResult } from '../delivery/job.ts';

/**
 * What goes wrong with attempts. Counts are stored in this order: what is new comes last.
 * - 2xx to 5xx: it answered, but not 200; 429 stands apart
 * - timeout: no complete answer in time
 * - blocked: the address may not be called
 * - connection: it broke off, or something that has no other name
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

/** Undefined: nothing went wrong. */
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
