import type { SealContext } from '@rms/base/secrets';

/** A column of encrypted values. */
export interface SealedStore {
  readonly table: 'users' | 'mail_requests' | 'idempotency_keys';
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
