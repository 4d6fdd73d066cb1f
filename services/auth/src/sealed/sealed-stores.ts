import type { SealContext } from '@rms/base/secrets';
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
export const sealedStores: readonly SealedStore[] = [
  { table: 'users', column: 'second_factor_sealed', live: 'second_factor_sealed is not null', context: sealedFor },
  { table: 'email_requests', column: 'sealed', live: 'expires_at > now()', context: emailContext },
  {
    table: 'idempotency_keys',
    idColumn: 'key',
    column: 'answer',
    live: 'expires_at > now()',
    context: answerContext,
  },
];

/** A column of encrypted values. */
export interface SealedStore {
  readonly table: 'users' | 'email_requests' | 'idempotency_keys';
  /** Unique column. Default: id. */
  readonly idColumn?: string;
  readonly column: string;
  /** SQL condition that excludes expired or empty values. */
  readonly live: string;
  readonly context: (id: string) => SealContext;
}

export interface SealedRow {
  readonly id: string;
  readonly sealed: Buffer;
}
