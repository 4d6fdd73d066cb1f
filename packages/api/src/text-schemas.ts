import { type IdPrefix, idExample, idPattern, isId, mustBeId } from '@rms/base/ids';
import { textProblem } from '@rms/base/value-rules';
import { z } from 'zod';

/**
 * Schema of a string with `least` to `most` Unicode code points. Rejects NUL and unpaired surrogates, which PostgreSQL
 * or UTF-8 cannot store.
 */
export function text(least: number, most: number) {
  return z
    .string()
    .superRefine((value, context) => {
      const problem = textProblem(value, least, most);
      if (problem) context.addIssue(problem);
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most, pattern: withoutNul });
}

/** Schema of an ID with one of these prefixes, for filters. */
export function idFilter(...prefixes: readonly [IdPrefix, ...IdPrefix[]]) {
  return z
    .string()
    .refine((value) => prefixes.some((prefix) => isId(prefix, value)), mustBeId(...prefixes))
    .meta({ pattern: idPattern(...prefixes), examples: [idExample(prefixes[0])] });
}

/** Character rules that JSON Schema can express. */
export const withoutNul = '^[^\\u0000]*$';
