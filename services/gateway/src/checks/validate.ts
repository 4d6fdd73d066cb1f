import { type FieldViolation, RmsError } from '@rms/errors';
import type { ZodError, ZodType } from 'zod';

/** The query string by its schema; a parameter that is repeated, or that the endpoint does not know, is refused. */
export function parseQuery(schema: ZodType | undefined, url: string): unknown {
  const start = url.indexOf('?');
  const parameters = new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
  const query: Record<string, string> = {};
  const violations: FieldViolation[] = [];
  for (const [name, value] of parameters) {
    if (!schema) violations.push({ field: name, message: 'is not a parameter of this endpoint' });
    else if (Object.hasOwn(query, name)) violations.push({ field: name, message: 'must not be repeated' });
    // As own data, whatever its name is.
    else Object.defineProperty(query, name, { value, enumerable: true, configurable: true, writable: true });
  }
  if (violations.length > 0) throw new RmsError('invalid_request', { details: violations });
  return schema ? parse(schema, query) : undefined;
}

/** The body by its schema. */
export function parseBody(schema: ZodType, body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new RmsError('invalid_request', { message: 'The request body must be a JSON object.' });
  }
  return parse(schema, body);
}

function parse(schema: ZodType, input: unknown): unknown {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new RmsError('invalid_request', { details: toViolations(result.error) });
}

/** One line a field. */
function toViolations({ issues }: ZodError): FieldViolation[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ field: [...issue.path, key].join('.'), message: 'is not a known field' }));
    }
    return [{ field: issue.path.join('.'), message: issue.message }];
  });
}
