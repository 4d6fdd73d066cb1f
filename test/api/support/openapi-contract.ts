import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type Dispatcher, request } from 'undici';

interface OpenApiDocument {
  paths: Record<string, Record<string, { responses?: Record<string, ResponseObject> }>>;
  components?: { responses?: Record<string, ResponseObject> };
}

interface ResponseObject {
  $ref?: string;
  content?: Record<string, unknown>;
}

/** A response as received over the wire. */
export interface WireResponse {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Checks responses against the service's OpenAPI document. */
export interface Contract {
  /** Throws an error with the reason if the document does not allow the response. */
  check(response: WireResponse): void;
  /** "METHOD template status" of every response checked so far. */
  readonly seen: ReadonlySet<string>;
  /** "METHOD template" of every operation of the document under /v1. */
  readonly operations: readonly string[];
}

/** Schema of every error body, also for paths that are not in the document. */
const errorSchema = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'status'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', pattern: '^[a-z_]+$' },
        message: { type: 'string', minLength: 1 },
        status: { type: 'integer' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['field', 'message'],
            additionalProperties: false,
            properties: { field: { type: 'string' }, message: { type: 'string' } },
          },
        },
        doc_url: { type: 'string', format: 'uri' },
      },
    },
  },
};

/** Reads the document at `/openapi.json` of a running service. */
export async function readContract(baseUrl: string, dispatcher?: Dispatcher): Promise<Contract> {
  const { statusCode, body } = await request(`${baseUrl}/openapi.json`, dispatcher && { dispatcher });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`GET /openapi.json returned ${statusCode}`);
  return createContract(JSON.parse(text) as OpenApiDocument);
}

export function createContract(document: OpenApiDocument): Contract {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The package is CommonJS: bundlers see its function as the module itself, Node under `default`.
  const addFormats = (formats as unknown as { default?: typeof formats.default }).default ?? formats;
  (addFormats as unknown as (target: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: 'openapi', ...document });
  const validateError = ajv.compile(errorSchema);
  const validators = new Map<string, ValidateFunction>();
  const seen = new Set<string>();
  const templates = Object.keys(document.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replace(/\{[^/]+\}/g, '[^/]+')}$`),
  }));

  /**
   * Returns the pointer to a response's schema, "none" if it has no body, or undefined if it is not documented.
   */
  const schemaOf = (template: string, method: string, status: number): string | undefined => {
    const operation = document.paths[template]?.[method];
    const key = operation?.responses?.[status] ? String(status) : 'default';
    let response = operation?.responses?.[key];
    if (!response) return undefined;
    let pointer = `#/paths/${escapePointer(template)}/${method}/responses/${key}`;
    while (response?.$ref) {
      pointer = response.$ref;
      response = document.components?.responses?.[pointer.split('/').at(-1) ?? ''];
    }
    return response?.content ? `openapi${pointer}/content/application~1json/schema` : 'none';
  };

  return {
    seen,
    operations: Object.entries(document.paths)
      .filter(([template]) => template.startsWith('/v1'))
      .flatMap(([template, item]) =>
        Object.keys(item)
          .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
          .map((method) => `${method.toUpperCase()} ${template}`),
      ),
    check(response) {
      const path = response.path.split('?')[0] ?? '';
      const where = `${response.method} ${path} → ${response.status}: ${response.text.slice(0, 400)}`;
      if (!/^[A-Za-z0-9._+/=-]{8,128}$/.test(response.headers['x-request-id'] ?? '')) {
        throw new Error(`no X-Request-ID on ${where}`);
      }
      if (response.status >= 400 && response.method !== 'HEAD') {
        const body = parse(response, where) as { error?: { status?: number } };
        if (!validateError(body)) throw new Error(`${ajv.errorsText(validateError.errors)} in ${where}`);
        if (body.error?.status !== response.status) throw new Error(`error.status differs from the status in ${where}`);
      }
      const template = templates.find(({ pattern }) => pattern.test(path))?.template;
      const method = response.method.toLowerCase();
      if (template === undefined || document.paths[template]?.[method] === undefined) return;
      seen.add(`${response.method} ${template} ${response.status}`);
      const pointer = schemaOf(template, method, response.status);
      if (pointer === undefined) throw new Error(`not in the OpenAPI document: ${where}`);
      if (pointer === 'none') {
        if (response.text !== '') throw new Error(`the OpenAPI document documents no body: ${where}`);
        return;
      }
      let validate = validators.get(pointer);
      if (!validate) {
        validate = ajv.compile({ $ref: pointer });
        validators.set(pointer, validate);
      }
      if (!validate(parse(response, where))) throw new Error(`${ajv.errorsText(validate.errors)} in ${where}`);
    },
  };
}

function parse(response: WireResponse, where: string): unknown {
  if (!/^application\/json\b/.test(response.headers['content-type'] ?? '')) {
    throw new Error(`content type "${response.headers['content-type']}" of ${where}`);
  }
  return JSON.parse(response.text);
}

function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
}
