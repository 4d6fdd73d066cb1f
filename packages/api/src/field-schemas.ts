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

const example = '2026-01-02T03:04:05.678Z';

/** A time in a request: ISO 8601 with seconds and a UTC offset. */
export const timeInput = z.iso.datetime({ offset: true }).meta({
  override: ({ jsonSchema }) => {
    delete jsonSchema.pattern;
  },
  examples: [example],
});

/** A time in a response. */
export const shownTime = z.string().meta({ format: 'date-time', examples: [example] });

/** Query parameters that restrict a list to a time span. */
export const createdRange = {
  created_after: timeInput.optional().describe('Only items created at or after this time.'),
  created_before: timeInput.optional().describe('Only items created before this time.'),
};

/** Returns the schema for a duration in seconds, with fractions. */
export function seconds(least: number, most: number) {
  return z.number().min(least).max(most);
}
