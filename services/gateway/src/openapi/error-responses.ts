import { type ErrorCode, type ErrorKind, errorKinds } from '@rms/base/errors';
import { z } from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { headerRefs, limitHeaders } from './headers.ts';

const fields = {
  /** `insufficient_role` is omitted, because this API has no users. */
  code: z.enum(Object.keys(errorKinds).filter((code) => code !== 'insufficient_role') as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
  status: z.int().min(400).max(599),
};

const docUrl = z
  .string()
  .optional()
  .meta({ format: 'uri', examples: ['https://docs.example.com/errors.html#not_found'] })
  .describe('Cause and remedy of the code. Present if the operator publishes the error catalog.');

/** Exactly these three fields for 401, 403 and 429 (docs/errors.md). */
const specifiedErrorBody = z.strictObject({ error: z.strictObject(fields) }).meta({ id: 'SpecifiedError' });

const errorBody = z.strictObject({ error: z.strictObject({ ...fields, doc_url: docUrl }) }).meta({ id: 'Error' });

const validationErrorBody = z
  .strictObject({
    error: z.strictObject({
      code: z.literal('invalid_request'),
      message: z.string(),
      // Not a literal: generators for Java cannot represent a constant number.
      status: z.int().min(400).max(400),
      details: z.array(z.strictObject({ field: z.string(), message: z.string() })).describe('All invalid fields.'),
      doc_url: docUrl,
    }),
  })
  .meta({ id: 'ValidationError' });

/** Bodies of the statuses that do not have `errorBody`. */
const bodies: Readonly<Record<number, z.ZodType>> = {
  400: validationErrorBody,
  401: specifiedErrorBody,
  403: specifiedErrorBody,
  429: specifiedErrorBody,
};

/** The documented response of each status, with its possible error codes. */
export const errorResponses = {
  400: response(400, 'BadRequest', ['invalid_request']),
  401: response(401, 'Unauthorized', ['invalid_api_key', 'api_key_expired']),
  403: response(403, 'Forbidden', ['insufficient_scope', 'ip_not_allowed']),
  404: response(404, 'NotFound', ['not_found']),
  408: response(408, 'RequestTimeout', ['request_timeout']),
  409: response(409, 'Conflict', ['conflict']),
  412: response(412, 'PreconditionFailed', ['precondition_failed']),
  413: response(413, 'PayloadTooLarge', ['payload_too_large']),
  414: response(414, 'UriTooLong', ['uri_too_long']),
  415: response(415, 'UnsupportedMediaType', ['unsupported_media_type']),
  417: response(417, 'ExpectationFailed', ['expectation_failed']),
  422: response(422, 'IdempotencyKeyReused', ['idempotency_key_reused']),
  429: response(429, 'TooManyRequests', ['rate_limit_exceeded', 'quota_exceeded']),
  431: response(431, 'HeadersTooLarge', ['headers_too_large']),
  500: response(500, 'InternalError', ['internal_error']),
  503: response(503, 'ServiceUnavailable', ['service_unavailable']),
  504: response(504, 'Timeout', ['timeout']),
};

function response(status: number, id: string, codes: readonly ErrorCode[]): ZodOpenApiResponseObject {
  const specific =
    status === 400
      ? {
          message: 'The request is not valid: `name` is required.',
          details: [{ field: 'name', message: 'is required' }],
        }
      : {};
  const kinds = codes.map((code): [ErrorCode, ErrorKind] => [code, errorKinds[code]]);
  const examples = kinds.map(([code, { message }]) => [
    code,
    { value: { error: { code, message, status, ...specific } } },
  ]);
  return {
    id,
    description: kinds.map(([code, { message }]) => `\`${code}\`: ${message}`).join(' '),
    headers: headerRefs([
      'X-Request-ID',
      ...(status === 401 ? ['WWW-Authenticate' as const] : []),
      ...(status === 415 ? (['Accept', 'Accept-Encoding', 'Accept-Patch'] as const) : []),
      ...(status === 429 ? limitHeaders : []),
      ...(status === 429 || status === 503 ? ['Retry-After' as const] : []),
    ]),
    content: {
      'application/json': {
        schema: bodies[status] ?? errorBody,
        examples: Object.fromEntries(examples),
      },
    },
  };
}
