import { sealedFor } from '../second-factor/second-factor.ts';
import type { SealedStore } from './sealed-queries.ts';

/** All that this service seals. A secret that no code has confirmed yet lives for minutes, and is left to its end. */
export const sealedStores: readonly SealedStore[] = [
  { table: 'users', column: 'second_factor_sealed', live: 'second_factor_sealed is not null', context: sealedFor },
  { table: 'mail_requests', column: 'sealed', live: 'expires_at > now()', context: (id) => id },
];
