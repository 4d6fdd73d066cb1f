export { Idempotency, type IdempotentRequest } from './idempotency.ts';
export { deleteExpiredKeys } from './idempotency-queries.ts';
