import type { oas31 } from 'zod-openapi';

type Headers = Record<string, oas31.HeaderObject>;

const number = { type: 'integer' as const, minimum: 0 };

/** All headers that a response may have. */
export const headers = {
  'X-Request-ID': {
    description: 'Identifies the request in logs, events and deliveries.',
    required: true,
    schema: { type: 'string', examples: ['req_01jc3v9m0w7y8x2k4n6p8q0r2s'] },
  },
  'RateLimit-Policy': {
    description:
      'Limits that apply: of the key (`rate`), of all keys of the workspace together (`workspace`) and of the month: quota `q` per window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', examples: ['"rate";q=6000;w=60, "workspace";q=60000;w=60, "month";q=10000000'] },
  },
  RateLimit: {
    description: 'Remaining requests (`r`) of each limit, and seconds until it is fully restored (`t`).',
    schema: { type: 'string', examples: ['"rate";r=5999;t=1, "workspace";r=59999;t=1, "month";r=9999999;t=86400'] },
  },
  'X-RateLimit-Limit': { description: 'Requests that the key may make per window.', schema: number },
  'X-RateLimit-Remaining': { description: 'Requests that the key may make now.', schema: number },
  'X-RateLimit-Reset': { description: 'Seconds until the limit is fully restored.', schema: number },
  'Retry-After': { description: 'Seconds to wait before a retry.', required: true, schema: number },
  'WWW-Authenticate': { description: '`Bearer`.', schema: { type: 'string' } },
  Accept: { description: 'Accepted media type, if another one is the reason.', schema: { type: 'string' } },
  'Accept-Encoding': {
    description: '`identity`, if the content encoding is the reason: bodies must not be encoded.',
    schema: { type: 'string' },
  },
  'Accept-Patch': { description: 'Accepted media type of PATCH.', schema: { type: 'string' } },
  ETag: {
    description: 'Version of the object, for If-Match and If-None-Match.',
    schema: { type: 'string', examples: ['"7.3f0a6c81d2b94e7715c6a0d8"'] },
  },
  'Idempotency-Replayed': {
    description: '`true` if this is the response to an earlier request with the same Idempotency-Key.',
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
