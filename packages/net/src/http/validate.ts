import { type FieldViolation, RmsError } from '@rms/base/errors';
import { type ZodType, z } from 'zod';
import { shownText } from './respond.ts';

/** Maximum number of field errors in a response. */
const maxDetails = 100;
const maxFieldLength = 100;
const time = '2026-01-02T03:04:05.678Z';

/** Validates the body. Throws `invalid_request` with an entry for every invalid field. */
export function parseBody<T>(schema: ZodType<T>, body: unknown): T {
  return parse(schema, body, 'body');
}

/**
 * Validates the query string. A parameter may be repeated if its schema is an array. Parameters such as
 * `metadata[team]=blue` form one object if the schema of `metadata` has the style `deepObject`. Without a schema, any parameter is
 * an error. Throws `invalid_request`.
 */
export function parseQuery<T>(schema: ZodType<T> | undefined, url: string): T | undefined {
  const start = url.indexOf('?');
  if (start < 0 && !schema) return undefined;
  const parameters: Record<string, string | string[] | Record<string, string>> = Object.create(null);
  const violations: FieldViolation[] = [];
  for (const [name, value] of new URLSearchParams(start < 0 ? '' : url.slice(start))) {
    const member = memberOf(schema, name);
    if (member) {
      parameters[member.of] ??= Object.create(null) as Record<string, string>;
      const members = parameters[member.of];
      if (typeof members !== 'object' || Array.isArray(members) || member.key in members) {
        violations.push({ field: name, message: 'is repeated' });
      } else {
        members[member.key] = value;
      }
      continue;
    }
    if (isRepeatable(schema, name)) {
      const values = parameters[name];
      if (Array.isArray(values)) values.push(value);
      else parameters[name] = [value];
      continue;
    }
    if (name in parameters) violations.push({ field: name, message: 'is repeated' });
    else if (!schema) violations.push({ field: name, message: 'is not a known parameter; this endpoint has none' });
    parameters[name] = value;
  }
  if (violations.length > 0) throw invalidRequest(violations);
  return schema && parse(schema, parameters, 'query');
}

/** Returns whether the schema of an object has an array under a name. */
function isRepeatable(schema: ZodType | undefined, name: string): boolean {
  if (!(schema instanceof z.ZodObject) || !Object.hasOwn(schema.shape, name)) return false;
  const field: unknown = schema.shape[name];
  return (field instanceof z.ZodOptional ? field.unwrap() : field) instanceof z.ZodArray;
}

/** Returns the object and the key that a name such as "metadata[team]" denotes. */
function memberOf(schema: ZodType | undefined, name: string): { of: string; key: string } | undefined {
  const start = name.indexOf('[');
  if (start < 1 || !name.endsWith(']') || !(schema instanceof z.ZodObject)) return undefined;
  const of = name.slice(0, start);
  const field: unknown = Object.hasOwn(schema.shape, of) ? schema.shape[of] : undefined;
  const parameter = field instanceof z.ZodType ? (field.meta()?.param as { style?: string } | undefined) : undefined;
  return parameter?.style === 'deepObject' ? { of, key: name.slice(start + 1, -1) } : undefined;
}

function parse<T>(schema: ZodType<T>, value: unknown, whole: Whole): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, maxDetails);
  const violations = issues.flatMap((issue) => violationsOf(issue, { schema, value, whole }));
  // A repeated parameter's values can violate the same rule.
  const distinct = new Map(violations.map((violation) => [`${violation.field} ${violation.message}`, violation]));
  throw invalidRequest([...distinct.values()]);
}

function invalidRequest(violations: readonly FieldViolation[]): RmsError {
  const details = violations.slice(0, maxDetails).map(({ field, message }) => ({
    field: shownText(field, maxFieldLength),
    message,
  }));
  return new RmsError('invalid_request', { details });
}

/** The validated part of a request. Its name is the field in a violation that concerns the whole value. */
type Whole = 'body' | 'query';

/** Schema and value of a validation. */
interface Validated {
  readonly schema: ZodType;
  readonly value: unknown;
  readonly whole: Whole;
}

/** Converts an issue of zod to violations in the API's wording. */
function violationsOf(issue: z.core.$ZodIssue, { schema, value, whole }: Validated): FieldViolation[] {
  // A repeatable parameter has no index in a URL.
  const path = whole === 'query' ? issue.path.slice(0, 1) : issue.path;
  const field = path.join('.') || whole;
  switch (issue.code) {
    case 'unrecognized_keys': {
      const noun = whole === 'query' ? 'parameter' : 'field';
      const message = `is not a known ${noun}${knownFieldsOf(schema, issue.path, noun)}`;
      return issue.keys.slice(0, maxDetails).map((key) => ({ field: [...path, key].join('.'), message }));
    }
    case 'invalid_type':
      return [{ field, message: isMissing(issue.path, value) ? 'is required' : `must be ${nounOf(issue.expected)}` }];
    case 'invalid_value': {
      const allowed = `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
      return [{ field, message: isMissing(issue.path, value) ? `is required; it ${allowed}` : allowed }];
    }
    case 'too_small':
      return [{ field, message: `must ${boundOf(issue.origin, 'least', issue.minimum)}` }];
    case 'too_big':
      return [{ field, message: `must ${boundOf(issue.origin, 'most', issue.maximum)}` }];
    case 'invalid_key':
      return issue.issues.flatMap((inner) =>
        violationsOf(inner, { schema, value: field, whole }).map(({ message }) => ({
          field,
          message: `the key ${message}`,
        })),
      );
    case 'invalid_format':
      return [
        { field, message: issue.format === 'datetime' ? `must be an ISO 8601 time such as ${time}` : issue.message },
      ];
    default:
      return [{ field, message: issue.message }];
  }
}

/** Returns "; known fields: a, b" for the object at a schema path; empty if it is not an object. */
function knownFieldsOf(schema: ZodType, path: readonly PropertyKey[], noun: string): string {
  const object = schemaAt(schema, path);
  return object instanceof z.ZodObject ? `; known ${noun}s: ${Object.keys(object.shape).join(', ')}` : '';
}

/** Returns the schema at a path through objects and arrays; undefined if another kind of schema is in between. */
function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? schema.unwrap() : schema;
  if (inner !== schema) return schemaAt(inner, path);
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  if (schema instanceof z.ZodArray) return schemaAt(schema.element, rest);
  return schema instanceof z.ZodObject ? schemaAt(schema.shape[String(key)], rest) : undefined;
}

const units: Readonly<Record<string, string>> = { string: 'characters', array: 'items', record: 'fields' };

/** Returns "be at most 5" for a number, and "have at most 5 characters" for a text. */
function boundOf(origin: string, which: 'least' | 'most', bound: number | bigint): string {
  const unit = units[origin];
  return unit === undefined ? `be at ${which} ${bound}` : `have at ${which} ${bound} ${unit}`;
}

function isMissing(path: readonly PropertyKey[], value: unknown): boolean {
  let at = value;
  for (const key of path) at = (at as Record<PropertyKey, unknown>)[key];
  return at === undefined;
}

function nounOf(type: string): string {
  if (type === 'int') return 'a whole number';
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
