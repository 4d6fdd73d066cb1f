import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';

/** A query or body field of an endpoint, as a command line shows and reads it. */
export interface InputField {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  /** The values that the field accepts; undefined: not enumerable. */
  readonly choices: readonly string[] | undefined;
  /**
   * 'text': the value as typed; 'texts': several values; 'pairs': several keys with values; 'flag': true or false;
   * 'time': ISO 8601, or null where the field accepts it; 'json': any other JSON value.
   */
  readonly kind: 'text' | 'texts' | 'pairs' | 'flag' | 'time' | 'json';
}

interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string;
  readonly format?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly override?: { readonly description?: string; readonly type?: string };
}

/** Returns the query or body fields, in the order of their schema. */
export function inputFields(endpoint: Endpoint, part: 'query' | 'body'): InputField[] {
  const schema = endpoint[part];
  if (!schema) return [];
  const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const resolved = (one: JsonSchema): JsonSchema =>
    one.$ref === undefined ? one : { ...document.$defs?.[one.$ref.split('/').at(-1) ?? ''], ...one };
  const { properties = {}, required = [] } = resolved(document);
  return Object.entries(properties).map(([name, property]) => {
    const given = listOf(resolved(property));
    const { items, description, override, enum: choices } = given;
    return {
      name,
      description: description ?? override?.description ?? '',
      isRequired: required.includes(name),
      choices: choices ?? (isTexts(given) ? items?.enum : undefined),
      kind: part === 'query' && override?.type === 'object' ? 'pairs' : kindOf(given),
    };
  });
}

function kindOf(schema: JsonSchema): InputField['kind'] {
  const { type, format, anyOf = [] } = schema;
  if (format === 'date-time' || anyOf.some((one) => one.format === 'date-time')) return 'time';
  if (isTexts(schema)) return 'texts';
  return type === 'string' ? 'text' : type === 'boolean' ? 'flag' : 'json';
}

/** Returns the schema of a list of texts that can also be null, without null. */
function listOf(schema: JsonSchema): JsonSchema {
  const list = schema.anyOf?.find(isTexts);
  return list ? { ...schema, ...list, anyOf: [] } : schema;
}

function isTexts({ type, items }: JsonSchema): boolean {
  return type === 'array' && items?.type === 'string';
}
