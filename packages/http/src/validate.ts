import { type FieldViolation, RmsError } from '@rms/errors';
import type { ZodType, z } from 'zod';

/** More wrong fields than anyone reads are not told. */
const mostDetails = 100;
const longestField = 100;

/** The body as its schema says. Throws `invalid_request` that names every wrong field. */
export function parseBody<T>(schema: ZodType<T>, body: unknown): T {
  return parse(schema, body, 'body');
}

/** The query as its schema says; an endpoint without one takes no parameters. Throws `invalid_request`. */
export function parseQuery<T>(schema: ZodType<T> | undefined, url: string): T | undefined {
  const start = url.indexOf('?');
  if (start < 0 && !schema) return undefined;
  const parameters: Record<string, string> = Object.create(null);
  const refused: FieldViolation[] = [];
  for (const [name, value] of new URLSearchParams(start < 0 ? '' : url.slice(start))) {
    if (name in parameters) refused.push({ field: name, message: 'is repeated' });
    else if (!schema) refused.push({ field: name, message: unknownField });
    parameters[name] = value;
  }
  if (refused.length > 0) throw refusal(refused);
  return schema && parse(schema, parameters, 'query');
}

const unknownField = 'is not a known field';

function parse<T>(schema: ZodType<T>, value: unknown, whole: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw refusal(result.error.issues.flatMap((issue) => violationsOf(issue, value, whole)));
}

function refusal(violations: readonly FieldViolation[]): RmsError {
  const details = violations.slice(0, mostDetails).map(({ field, message }) => ({ field: shorten(field), message }));
  return new RmsError('invalid_request', { details });
}

/** The one place that says in our words what zod has found. */
function violationsOf(issue: z.core.$ZodIssue, value: unknown, whole: string): FieldViolation[] {
  const field = issue.path.join('.') || whole;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ field: [...issue.path, key].join('.'), message: unknownField }));
    case 'invalid_type':
      return [{ field, message: isMissing(issue.path, value) ? 'is required' : `must be ${nounOf(issue.expected)}` }];
    case 'invalid_value':
      return [{ field, message: `must be one of ${issue.values.join(', ')}` }];
    case 'too_small':
      return [{ field, message: `must have at least ${issue.minimum}` }];
    case 'too_big':
      return [{ field, message: `must have at most ${issue.maximum}` }];
    default:
      return [{ field, message: issue.message }];
  }
}

function isMissing(path: readonly PropertyKey[], value: unknown): boolean {
  let at = value;
  for (const key of path) at = (at as Record<PropertyKey, unknown>)[key];
  return at === undefined;
}

function nounOf(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function shorten(field: string): string {
  return field.length > longestField ? `${field.slice(0, longestField)}…` : field;
}
