import { endpoints } from '@rms/api';
import { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType>>;

/** The properties of an object, also of an optional or nullable one; undefined for another type. */
function shapeOf(schema: z.ZodType): Shape | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return shapeOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodObject ? (schema.shape as Shape) : undefined;
}

/** Paths of the properties that are null in some responses and that the request's body has. */
function nullPaths(shown: Shape, input: Shape, prefix: readonly string[] = []): string[][] {
  return Object.entries(shown).flatMap(([name, schema]) => {
    const given = input[name];
    if (!given) return [];
    const path = [...prefix, name];
    const [inner, innerGiven] = [shapeOf(schema), shapeOf(given)];
    return [
      ...(schema.safeParse(null).success ? [path] : []),
      ...(inner && innerGiven ? nullPaths(inner, innerGiven, path) : []),
    ];
  });
}

function inputAt(input: Shape, [name = '', ...rest]: readonly string[]): z.ZodType {
  const schema = input[name];
  if (!schema) throw new Error(`there is no ${name}`);
  return rest.length === 0 ? schema : inputAt(shapeOf(schema) ?? {}, rest);
}

const nouns = endpoints
  .filter(({ method, path }) => method === 'get' && path.endsWith('/{id}'))
  .map(({ path, success }) => ({ noun: path.split('/')[2] ?? '', shown: shapeOf(success.schema as z.ZodType)?.data }));
const cases = nouns.flatMap(({ noun, shown }) =>
  endpoints.flatMap(({ method, path, body }) => {
    const [input, fields] = [body && shapeOf(body), shown && shapeOf(shown)];
    if (path.split('/')[2] !== noun || path.split('/').length > 4 || !input || !fields) return [];
    return nullPaths(fields, input).map(
      (field) => [`${method.toUpperCase()} ${path}`, field.join('.'), input] as const,
    );
  }),
);

test('the table contains the properties that can be null', () => {
  expect(cases.map(([operation, field]) => `${operation} ${field}`)).toEqual(
    expect.arrayContaining([
      'POST /v1/api_keys expires_at',
      'PATCH /v1/api_keys/{id} expires_at',
      'PATCH /v1/api_keys/{id} rate_limit',
      'PATCH /v1/webhooks/{id} rate_limit.requests_per_second',
    ]),
  );
});

test.each(cases)('%s accepts the null of %s that GET returns', (_, field, input) => {
  expect(inputAt(input, field.split('.')).safeParse(null)).toMatchObject({ success: true });
});
