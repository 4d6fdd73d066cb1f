import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiResponsesObject } from 'zod-openapi';
import type { Endpoint } from '../routes/endpoint.ts';
import { endpoints } from '../routes/endpoints.ts';
import { errorResponses } from './error-responses.ts';
import { headerRefs, headers, limitHeaders } from './headers.ts';

const idempotencyKey = z
  .string()
  .optional()
  .meta({ override: { minLength: 1, maxLength: 255, pattern: '^[ -~]+$' }, examples: ['order-4711'] })
  .describe('The same key within 24 hours returns the first answer and does not repeat the operation.');

/** OpenAPI 3.1 of the API, made from the same endpoints and schemas that serve it. */
export function openApiDocument(): object {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Resource Management Service',
      version: '1.0.0',
      description:
        'Stores resources and tells webhooks about their changes.\n\nThe address decides the environment: `sk_live_` keys ' +
        'work on the live one, `sk_test_` keys on the sandbox. Unknown fields and query parameters are refused.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The environment that this document was read from.' }],
    tags: [
      { name: 'Resources', description: 'The primary objects of a workspace.' },
      { name: 'Webhooks', description: 'Subscriptions to events, which are delivered as signed HTTP POSTs.' },
      { name: 'Events', description: 'All events in one order without gaps, whether or not a webhook wants them.' },
    ],
    security: [{ apiKey: [] }],
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. Scopes nest: `read` ⊂ `write` ⊂ `admin`.',
        },
      },
      headers,
    },
    paths,
  });
}

function operationOf(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { operationId, summary, description, tag, scope, path, query, body, idempotent } = endpoint;
  const parameters = {
    ...(path.includes('{id}') ? { path: z.object({ id: z.string().describe('Identifier.') }) } : {}),
    ...(query ? { query: query as z.ZodObject } : {}),
    ...(idempotent ? { header: z.object({ 'Idempotency-Key': idempotencyKey }) } : {}),
  };
  return {
    operationId,
    summary,
    description: [description, `Needs a key of scope \`${scope}\`.`].filter(Boolean).join(' '),
    tags: [tag],
    requestParams: parameters,
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
    responses: responsesOf(endpoint),
  };
}

function responsesOf({ success, path, body, idempotent, method }: Endpoint): ZodOpenApiResponsesObject {
  const { status, description, schema } = success;
  const names = ['X-Request-ID', ...limitHeaders, ...(idempotent ? (['Idempotency-Replayed'] as const) : [])] as const;
  const { 404: notFound, 409: conflict, 413: tooLarge, 415: mediaType, 422: keyReused, ...common } = errorResponses;
  return {
    [status]: {
      description,
      headers: headerRefs(names),
      ...(schema ? { content: { 'application/json': { schema } } } : {}),
    },
    ...common,
    ...(path.includes('{id}') ? { 404: notFound } : {}),
    ...(method === 'get' ? {} : { 409: conflict }),
    ...(body ? { 413: tooLarge, 415: mediaType } : {}),
    ...(idempotent ? { 422: keyReused } : {}),
  };
}
