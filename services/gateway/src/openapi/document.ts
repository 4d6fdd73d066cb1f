import {
  createWebhook,
  type Endpoint,
  endpoints,
  parameterOf,
  tags,
  versionOfService,
  type WebhookUrls,
  webhookUrl,
  webhookUrlShape,
} from '@rms/api';
import { keyPermissions, leastScopeFor, type Permission } from '@rms/base/roles';
import { idempotencyKeyLength } from '@rms/base/value-rules';
import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { clientMethodOf, codeSamplesOf, exampleIdOf } from './code-samples.ts';
import { errorResponses } from './error-responses.ts';
import { readGuide } from './guide.ts';
import { headerRefs, headers, limitHeaders } from './headers.ts';
import { webhookCallbacks } from './webhook-callbacks.ts';

const idempotencyKey = z
  .string()
  .optional()
  .meta({ override: { minLength: 1, maxLength: idempotencyKeyLength, pattern: '^[ -~]+$' }, examples: ['order-4711'] })
  .describe(
    'A request with the same key within 24 hours returns the first response and does not repeat the operation.',
  );

/** A list of entity tags, or `*` (RFC 9110, 13.1). */
const entityTags = z
  .string()
  .optional()
  .meta({
    override: { maxLength: 1_000, pattern: '^(\\*|(W/)?"[!#-~]*"(, (W/)?"[!#-~]*")*)$' },
    examples: ['"7.3f0a6c81d2b94e7715c6a0d8"'],
  });
const ifMatch = entityTags.describe(
  'ETag of an earlier response. If the object has changed since, the response is 412 and nothing changes.',
);
const ifNoneMatch = entityTags.describe(
  'ETag of an earlier response. If the response would be the same, it is 304 without a body.',
);

/**
 * Generates the OpenAPI 3.1 document from the endpoints and schemas that serve the API.
 * @param basePath path in the API's public URL
 */
export function openApiDocument(
  webhookUrls: WebhookUrls = { http: false, privateNetworks: false },
  basePath = '/',
): object {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  const document: ZodOpenApiObject = {
    openapi: '3.1.1',
    info: {
      title: 'Resource Management Service',
      version: versionOfService(),
      description:
        'Stores resources and notifies webhooks of their changes.\n\nThe address determines the ' +
        'environment: `sk_live_` keys work only in the live environment, `sk_test_` keys only in the sandbox. Unknown ' +
        'fields and query parameters are rejected.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath, description: 'The environment that served this document.' }],
    ...tagsOfDocument(),
    security: [{ apiKey: [] }],
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. Scopes are nested: `read` ⊂ `write` ⊂ `admin`.',
        },
      },
      headers,
    },
    paths,
  };
  const created = createDocument(document, {
    override({ zodSchema, jsonSchema }) {
      if (zodSchema === webhookUrl) Object.assign(jsonSchema, webhookUrlShape(webhookUrls));
    },
  });
  disableOptionalParameters(created);
  return created;
}

/** Marks examples of optional parameters, so that requests that users send from /docs do not contain them. */
function disableOptionalParameters({ paths = {} }: ReturnType<typeof createDocument>): void {
  const operations = Object.values(paths).flatMap((item) =>
    Object.values(item as Record<string, { parameters?: object[] }>),
  );
  for (const { parameters = [] } of operations) {
    for (const parameter of parameters as oas31.ParameterObject[]) {
      const { examples, default: usual } = parameter.schema as oas31.SchemaObject;
      const value = usual ?? examples?.[0];
      if (parameter.required || value === undefined) continue;
      parameter.examples = { optional: { value, 'x-disabled': true } as oas31.ExampleObject };
    }
  }
}

/** Returns the operations' tags, between the guides' pages, and the groups of both for viewers. */
function tagsOfDocument() {
  const names = Object.keys(tags);
  const { groups, additions } = readGuide(names);
  const [first, ...others] = groups.map(({ name, pages }) => ({ name, tags: pages.map((page) => page.name) }));
  return {
    tags: [
      ...Object.entries(tags).map(([name, description]) => ({
        name,
        description: [description, additions.get(name)].filter(Boolean).join('\n\n'),
      })),
      ...groups.flatMap(({ pages }) => pages),
    ],
    'x-tagGroups': [first, { name: 'Operations', tags: names }, ...others],
  };
}

function operationOf(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { operationId, summary, description, tag, permission, path, query, body, optionalBody } = endpoint;
  const parameter = parameterOf(path);
  const id = exampleIdOf(path, endpoints);
  const header = headerParametersOf(endpoint);
  const parameters = {
    ...(parameter
      ? {
          path: z.object({
            [parameter]: z
              .string()
              .describe('Identifier.')
              .meta({ examples: [id] }),
          }),
        }
      : {}),
    ...(query ? { query: query as z.ZodObject } : {}),
    ...(header ? { header: z.object(header) } : {}),
  };
  return {
    operationId,
    summary,
    description: [description, requiredOf(permission)].filter(Boolean).join(' '),
    tags: [tag],
    requestParams: parameters,
    ...(body ? { requestBody: { required: !optionalBody, content: { 'application/json': { schema: body } } } } : {}),
    responses: responsesOf(endpoint),
    ...(operationId === createWebhook.operationId ? { callbacks: webhookCallbacks() } : {}),
    'x-client-method': clientMethodOf(endpoint),
    'x-codeSamples': codeSamplesOf(endpoint, id),
  };
}

function headerParametersOf({ method, idempotent, conditional }: Endpoint): z.ZodRawShape | undefined {
  if (idempotent) return { 'Idempotency-Key': idempotencyKey };
  if (!conditional || method === 'post') return undefined;
  return method === 'get' ? { 'If-None-Match': ifNoneMatch } : { 'If-Match': ifMatch };
}

function responsesOf(endpoint: Endpoint): ZodOpenApiResponsesObject {
  const { success, otherSuccess, path, body, bodyNamesObject, idempotent, conditional, method } = endpoint;
  const { status, description, schema } = success;
  const names = [
    ...(['X-Request-ID', ...limitHeaders] as const),
    ...(idempotent ? (['Idempotency-Replayed'] as const) : []),
    ...(conditional && schema ? (['ETag'] as const) : []),
  ];
  const {
    404: notFound,
    409: conflict,
    412: failed,
    413: tooLarge,
    415: mediaType,
    422: keyReused,
    ...common
  } = errorResponses;
  const isGet = method === 'get';
  return {
    [status]: {
      description,
      headers: headerRefs(names),
      ...(schema ? { content: { 'application/json': { schema } } } : {}),
    },
    ...(otherSuccess ? { [otherSuccess.status]: otherResponse(otherSuccess) } : {}),
    ...(conditional && isGet ? { 304: { description: 'Unchanged.', headers: headerRefs(names) } } : {}),
    ...common,
    ...(parameterOf(path) || bodyNamesObject ? { 404: notFound } : {}),
    ...(isGet ? {} : { 409: conflict }),
    ...(conditional && !isGet && method !== 'post' ? { 412: failed } : {}),
    ...(body ? { 413: tooLarge, 415: mediaType } : {}),
    ...(idempotent ? { 422: keyReused } : {}),
  };
}

function otherResponse({ description, schema }: NonNullable<Endpoint['otherSuccess']>) {
  return {
    description,
    headers: headerRefs(['X-Request-ID', ...limitHeaders]),
    ...(schema ? { content: { 'application/json': { schema } } } : {}),
  };
}

/** Returns the sentence that says which API keys may call an endpoint. */
function requiredOf(permission: Permission): string {
  const scope = `a key with scope \`${leastScopeFor(permission)}\``;
  return (keyPermissions as readonly Permission[]).includes(permission)
    ? `Requires ${scope}, or the permission \`${permission}\`.`
    : `Requires ${scope}.`;
}
