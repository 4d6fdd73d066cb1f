import { errorKinds } from '@rms/errors';
import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import type { Endpoint } from '../endpoint.ts';
import { endpoints } from '../routes/endpoints.ts';

const errorBody = z
  .strictObject({
    error: z.strictObject({
      code: z.string().meta({ example: 'not_found' }),
      message: z.string().meta({ example: 'There is nothing at this address.' }),
      status: z.int().meta({ description: 'The HTTP status.', example: 404 }),
      details: z
        .array(z.strictObject({ field: z.string(), message: z.string() }))
        .optional()
        .meta({ description: 'What is wrong with the request, a line a field. With `invalid_request` only.' }),
    }),
  })
  .meta({ id: 'Error' });

const requestId = z
  .string()
  .meta({ description: 'Identifies the request.', example: 'req_01m7y7ft43e1288nbk01470g34' });
const retryAfter = z.int().min(1).meta({ description: 'Seconds to wait before the next try.' });

/** The OpenAPI 3.1 document of the API, made from the objects that serve it. */
export function openApiDocument(): object {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Resource Management Service',
      version: '1.0.0',
      description: 'Resources of a workspace, and webhooks that tell of their changes.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This listener; live and sandbox have one each.' }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Resources', description: 'The primary objects of a workspace.' },
      { name: 'Webhooks', description: 'Subscriptions to signed event notifications.' },
    ],
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: '`sk_live_…` at the live, `sk_test_…` at the sandbox listener.',
        },
      },
    },
    paths: paths as ZodOpenApiPathsObject,
  });
}

function operationOf(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { operationId, summary, tag, scope, path, query, body, success, idempotent } = endpoint;
  const hasId = path.includes('{id}');
  const header = z.object({
    'Idempotency-Key': z.string().min(1).max(255).optional().meta({
      description: 'The same key within 24 hours gets the same answer, and nothing is done twice.',
    }),
  });
  const headers = z.object({
    'X-Request-ID': requestId,
    ...(idempotent
      ? { 'Idempotency-Replayed': z.literal('true').optional().meta({ description: 'The answer is an earlier one.' }) }
      : {}),
  });
  const statuses = [
    400,
    401,
    403,
    429,
    500,
    503,
    504,
    ...(hasId ? [404] : []),
    ...(body ? [413, 415] : []),
    ...(idempotent ? [422] : []),
  ];
  const failures = Object.fromEntries(statuses.sort().map((status) => [String(status), failureOf(status)]));
  return {
    operationId,
    summary,
    description: `Needs a key of scope \`${scope}\` or more.`,
    tags: [tag],
    requestParams: {
      ...(hasId ? { path: z.object({ id: z.string() }) } : {}),
      ...(query ? { query: query as z.ZodObject } : {}),
      ...(idempotent ? { header } : {}),
    },
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
    responses: {
      [String(success.status)]: {
        description: success.description,
        headers,
        ...(success.schema ? { content: { 'application/json': { schema: success.schema } } } : {}),
      },
      ...failures,
    } as ZodOpenApiOperationObject['responses'],
  };
}

function failureOf(status: number) {
  const codes = Object.entries(errorKinds).filter(([, kind]) => kind.httpStatus === status);
  return {
    description: codes.map(([code, { message }]) => `\`${code}\`: ${message}`).join(' '),
    headers: z.object({
      'X-Request-ID': requestId,
      ...(status === 429 || status === 503 ? { 'Retry-After': retryAfter } : {}),
    }),
    content: { 'application/json': { schema: errorBody } },
  };
}
