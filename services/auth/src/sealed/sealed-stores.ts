import type { SealContext } from '@rms/base/secrets';
import type { SealedStore } from '@rms/postgres/reencryption';
import { emailContext } from '../email/email.ts';
import { sealedFor } from '../second-factor/second-factor.ts';

/** Returns the context for a response stored for an Idempotency-Key. `key` is a hash that includes the tenant. */
export function answerContext(key: string): SealContext {
  return { purpose: 'idempotent response', id: key };
}

/**
 * All encrypted columns of this service. Unconfirmed second factor secrets are left out because they expire within
 * minutes.
 */
export const sealedStores: readonly SealedStore<readonly [id: string]>[] = [
  {
    table: 'auth.users',
    keyColumns: ['id'],
    column: 'second_factor_sealed',
    live: 'second_factor_sealed is not null',
    context: ([id]) => sealedFor(id),
  },
  {
    table: 'auth.email_requests',
    keyColumns: ['id'],
    column: 'sealed',
    live: 'expires_at > now()',
    context: ([id]) => emailContext(id),
  },
  {
    table: 'auth.idempotency_keys',
    keyColumns: ['key'],
    column: 'answer',
    live: 'expires_at > now()',
    context: ([key]) => answerContext(key),
  },
];
