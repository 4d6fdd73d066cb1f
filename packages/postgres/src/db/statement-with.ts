import type { Statement } from './in-one-round-trip.ts';

/**
 * Compiles an SQL text with named parameters (`$name`). Returns a function that makes the statement with the values of
 * the parameters; it throws if a value is missing. Call this once per text: PostgreSQL receives the same text with
 * numbers each time, so its plan can be kept under `name`.
 * @param text may repeat a parameter
 */
export function statementWith<Values extends object>(name: string, text: string): (values: Values) => Statement {
  const names: string[] = [];
  const numbered = text.replaceAll(/\$([a-z]\w*)/gi, (_, parameter: string) => {
    if (!names.includes(parameter)) names.push(parameter);
    return `$${names.indexOf(parameter) + 1}`;
  });
  return (values) => ({
    name,
    text: numbered,
    values: names.map((parameter) => {
      const value = (values as Record<string, unknown>)[parameter];
      if (value === undefined) throw new Error(`statement ${name} has no value for $${parameter}`);
      return value;
    }),
  });
}
