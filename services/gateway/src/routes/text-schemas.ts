import { z } from 'zod';

/** Text of so many characters, counted as Unicode code points, without what PostgreSQL or UTF-8 cannot hold. */
export function text(least: number, most: number) {
  return z
    .string()
    .superRefine((value, context) => {
      const problem = problemOf(value, least, most);
      if (problem) context.addIssue(problem);
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most, pattern: withoutNul });
}

/** What JSON Schema can say of the characters. */
export const withoutNul = '^[^\\u0000]*$';

/** What is wrong with a text; undefined: nothing. */
export function problemOf(value: string, least: number, most: number): string | undefined {
  // A text has at most as many code points as UTF-16 units, and at least half as many.
  if (value.length < least || (value.length > most && codePoints(value) > most)) {
    return `must have ${least} to ${most} characters, has ${codePoints(value)}`;
  }
  if (value.includes('\u0000') || !value.isWellFormed()) return 'must not hold NUL or half of a surrogate pair';
  return undefined;
}

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}
