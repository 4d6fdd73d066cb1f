import { type Endpoint, parameterOf } from '@rms/api';
import { z } from 'zod';

/** A sample of an operation, as viewers of OpenAPI documents show it. */
interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
interface Input {
  readonly noun: string;
  readonly method: string;
  /** Arguments of the clients: IDs, then the body or the query. */
  readonly args: readonly Json[];
  readonly isList: boolean;
  readonly hasData: boolean;
}

/** Nouns of the clients by the first segment of a path, where they differ. */
const nouns: Readonly<Record<string, string>> = { api_keys: 'keys', audit_log: 'audit' };

/**
 * Returns the name of an operation in the clients, in snake case: `webhooks.rotate_secret`. It ends with the last segment
 * of the path unless that is a parameter, otherwise with the verb of the operation's ID. A part of an object that is
 * set and removed has both: `webhooks.set_client_certificate`.
 */
export function clientMethodOf({ path, method, operationId }: Endpoint): string {
  const [, , collection = '', ...segments] = path.split('/');
  const last = segments.at(-1) ?? '{';
  const verb = /^[a-z]+/.exec(operationId)?.[0];
  const name = last.startsWith('{') ? verb : method === 'put' || method === 'delete' ? `${verb}_${last}` : last;
  return `${nouns[collection] ?? collection}.${name}`;
}

/** Returns an example of the path's parameter: of the object's field with the same name, from the endpoint that reads it. */
export function exampleIdOf(path: string, endpoints: readonly Endpoint[]): string | undefined {
  const parameter = parameterOf(path);
  if (parameter === undefined) return undefined;
  const object = path.slice(0, path.indexOf('}') + 1);
  const schema = endpoints.find((one) => one.path === object && one.method === 'get')?.success.schema;
  const { data } = (schema as z.ZodObject).shape as { data: z.ZodObject | z.ZodUnion<z.ZodObject[]> };
  // All kinds of an object have the field.
  const one = data instanceof z.ZodUnion ? (data.options[0] as z.ZodObject) : data;
  const field = one.shape[parameter] as z.ZodType;
  return field instanceof z.ZodEnum ? String(field.options[0]) : (field.meta()?.examples?.[0] as string);
}

/** Returns samples for curl and both clients. They read the address and the key from RMS_URL and RMS_API_KEY. */
export function codeSamplesOf(endpoint: Endpoint, id: string | undefined): CodeSample[] {
  const [noun = '', method = ''] = clientMethodOf(endpoint).split('.');
  const query = exampleOf(endpoint.query);
  const body = exampleOf(endpoint.body);
  const { schema } = endpoint.success;
  const isList = schema instanceof z.ZodObject && 'links' in schema.shape;
  const args = [id, query, body].filter((value) => value !== undefined);
  const input = { noun, method, args, isList, hasData: schema !== undefined };
  return [
    { lang: 'Shell', label: 'curl', source: curl(endpoint, { id, query, body }) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(input) },
    { lang: 'Python', label: 'Python', source: python(input) },
  ];
}

function exampleOf(schema: z.ZodType | undefined): Json | undefined {
  return schema?.meta()?.example as Json | undefined;
}

function curl(
  { method, path, idempotent }: Endpoint,
  { id, query, body }: { id: string | undefined; query: Json | undefined; body: Json | undefined },
): string {
  const target = id === undefined ? path : path.replace(/\{\w+\}/, id);
  const search = query === undefined ? '' : `?${new URLSearchParams(query as Record<string, string>)}`;
  return [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$RMS_URL${target}${search}"`,
    '-H "Authorization: Bearer $RMS_API_KEY"',
    ...(idempotent ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${JSON.stringify(body)}'`]),
  ].join(' \\\n  ');
}

function typescript({ noun, method, args, isList, hasData }: Input): string {
  const literals = args.map((value) => literal(value, { quote: "'", words: {}, areKeysQuoted: false }));
  const call = `rms.${camelCase(noun)}.${camelCase(method)}(${literals.join(', ')})`;
  const use = isList
    ? `for await (const item of ${call}) {\n  console.log(item);\n}`
    : hasData
      ? `const { data } = await ${call};\nconsole.log(data);`
      : `await ${call};`;
  return `import { Rms } from '@rms/client';

const rms = new Rms({
  url: process.env.RMS_URL ?? '',
  apiKey: process.env.RMS_API_KEY ?? '',
});

${use}`;
}

function python({ noun, method, args, isList, hasData }: Input): string {
  const words = { true: 'True', false: 'False', null: 'None' };
  const literals = args.map((value) => literal(value, { quote: '"', words, areKeysQuoted: true }));
  const call = `rms.${noun}.${method}(${literals.join(', ')})`;
  const use = isList
    ? `for item in ${call}:\n    print(item)`
    : hasData
      ? `result = ${call}\nprint(result.data)`
      : call;
  return `import os

from rms_client import Rms

rms = Rms(url=os.environ["RMS_URL"], api_key=os.environ["RMS_API_KEY"])

${use}`;
}

interface Syntax {
  readonly quote: '"' | "'";
  readonly words: Readonly<Record<string, string>>;
  readonly areKeysQuoted: boolean;
}

/** Returns a value in a language's syntax, in several lines if it is long. */
function literal(value: Json, syntax: Syntax, indent = ''): string {
  const { quote, words, areKeysQuoted } = syntax;
  if (typeof value === 'string') {
    const escaped = JSON.stringify(value).slice(1, -1);
    return quote + (quote === '"' ? escaped : escaped.replaceAll('\\"', '"').replaceAll("'", "\\'")) + quote;
  }
  if (typeof value !== 'object' || value === null) return words[String(value)] ?? String(value);
  const inner = `${indent}${areKeysQuoted ? '    ' : '  '}`;
  const keyOf = (name: string) => (areKeysQuoted || !/^\w+$/.test(name) ? literal(name, syntax) : name);
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, syntax, inner))
    : Object.entries(value).map(([name, item]) => `${keyOf(name)}: ${literal(item, syntax, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const space = open === '{' && !areKeysQuoted ? ' ' : '';
  const line = `${open}${space}${items.join(', ')}${space}${close}`;
  // A page shows about 80 characters without scrolling.
  if (items.length === 0 || (line.length <= 80 && !line.includes('\n'))) return line;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
