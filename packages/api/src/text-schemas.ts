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

/** Schema of an ID with this prefix, for filters. */
export function idFilter(prefix: IdPrefix) {
  return z
    .string()
    .refine((value) => isId(prefix, value), mustBeId(prefix))
    .meta({ pattern: idPattern(prefix), examples: [idExample(prefix)] });
}

/** Character rules that JSON Schema can express. */
export const withoutNul = '^[^\\u0000]*$';
