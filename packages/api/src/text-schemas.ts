import { type IdPrefix, idExample, idPattern, isId, mustBeId } from '@rms/ids';
import { z } from 'zod';

/**
 * Schema of a string with `least` to `most` Unicode code points. Rejects NUL and unpaired surrogates, which PostgreSQL
 * or UTF-8 cannot store.
 */
export function text(least: number, most: number) {
  return z
    .string()
    .superRefine((value, context) => {
      const problem = problemOf(value, least, most);
      if (problem) context.addIssue(problem);
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most, pattern: withoutNul });
}

/** Schema of an ID with this prefix, for filters. */
export function idFilter(prefix: IdPrefix) {
  return z
    .string()
    .refine((value) => isId(prefix, value), mustBeId(prefix))
    .meta({ pattern: idPattern(prefix), examples: [idExample(prefix)] });
}

/** The part of the character rules that JSON Schema can express. */
export const withoutNul = '^[^\\u0000]*$';

/** Returns the validation error of a text, or undefined if it is valid. */
export function problemOf(value: string, least: number, most: number): string | undefined {
  // A string has at most as many code points as UTF-16 code units, and at least half as many.
  if (value.length < least || (value.length > most && codePoints(value) > most)) {
    return `must have ${least} to ${most} characters, has ${codePoints(value)}`;
  }
  if (value.includes('\u0000') || !value.isWellFormed()) return 'must not contain NUL or unpaired surrogates';
  return undefined;
}

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}
