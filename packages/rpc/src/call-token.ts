import { timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import { type CallerCheck, CallerUnknown } from './callers.ts';

const tokenKey = 'rms-token';

/** Adds the token to a call's metadata. Returns the metadata. */
export function withToken(metadata: Metadata, token: string | undefined): Metadata {
  if (token !== undefined) metadata.set(tokenKey, token);
  return metadata;
}

/** Creates the check that a call carries the token. Throws {@link CallerUnknown}. */
export function createTokenCheck(token: string): CallerCheck {
  const expected = Buffer.from(token);
  return (method, { metadata }) => {
    const given = Buffer.from(String(metadata.get(tokenKey)[0] ?? ''));
    if (given.length === expected.length && timingSafeEqual(given, expected)) return;
    throw new CallerUnknown(
      `A call of ${method} requires the token in services.json of DATA_DIR, which only the user who started the services can read.`,
    );
  };
}
