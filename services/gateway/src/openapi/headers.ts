import type { oas31 } from 'zod-openapi';

type Headers = Record<string, oas31.HeaderObject>;

const number = { type: 'integer' as const, minimum: 0 };

/** Every header that an answer may carry. */
export const headers = {
  'X-Request-ID': {
    description: 'Identifies the request in logs, events and deliveries.',
    required: true,
    schema: { type: 'string', examples: ['req_01jc3v9m0w7y8x2k4n6p8q0r2s'] },
  },
  'RateLimit-Policy': {
    description: 'Limits in force: quota `q` per window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', examples: ['"rate";q=6000;w=60, "month";q=10000000'] },
  },
  RateLimit: {
    description: 'What remains (`r`) of each, and in how many seconds it is whole again (`t`).',
    schema: { type: 'string', examples: ['"rate";r=5999;t=1, "month";r=9999999;t=86400'] },
  },
  'X-RateLimit-Limit': { description: 'Requests the key may make in a window.', schema: number },
  'X-RateLimit-Remaining': { description: 'Requests the key may make right now.', schema: number },
  'X-RateLimit-Reset': { description: 'Seconds until the limit is whole again.', schema: number },
  'Retry-After': { description: 'Seconds to wait before the next try.', required: true, schema: number },
  'WWW-Authenticate': { description: '`Bearer`.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: '`true` if this is the answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
} as const satisfies Headers;

type HeaderName = keyof typeof headers;

export const limitHeaders: readonly HeaderName[] = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

export function headerRefs(names: readonly HeaderName[]): Record<string, oas31.ReferenceObject> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
