import { filterOperators, filterProblems } from '@rms/base/webhook-filter';
import { z } from 'zod';

/** A group, or a condition. {@link filterProblems} checks which properties belong together. */
const filterElement = z
  .strictObject({
    get all(): z.ZodOptional<z.ZodArray<typeof filterElement>> {
      return z.array(filterElement).optional();
    },
    get any(): z.ZodOptional<z.ZodArray<typeof filterElement>> {
      return z.array(filterElement).optional();
    },
    field: z
      .string()
      .optional()
      .describe('`name`, `status`, `input_type`, `metadata.<key>` or `previous_attributes.<field>`.'),
    op: z.enum(filterOperators).optional(),
    // Generators of clients mistype a union of a string and a list. {@link filterProblems} checks the type.
    value: z
      .unknown()
      .optional()
      .describe('A string; a list of strings for `in` and `not_in`; absent for `exists` and `not_exists`.'),
  })
  .describe('A group with `all` or `any`; or a condition with `field`, `op` and `value`.')
  .meta({ id: 'WebhookFilterElement' });

/** A webhook's filter. */
export const webhookFilter = z
  .strictObject({ all: z.array(filterElement).optional(), any: z.array(filterElement).optional() })
  .superRefine((value, context) => {
    for (const { path, message } of filterProblems(value)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  })
  .describe(
    'Condition on the content of events: `all` or `any` of the elements. At most 3 levels of groups, 50 conditions, ' +
      '100 values per condition and 8,192 bytes as JSON. A field that is absent only satisfies `ne`, `not_in` and `not_exists`. An event that does not match ' +
      'makes no delivery.',
  )
  .meta({
    id: 'WebhookFilter',
    example: {
      all: [
        { field: 'status', op: 'eq', value: 'active' },
        { field: 'metadata.team', op: 'exists' },
      ],
    },
  });

export const filterTestBody = z
  .strictObject({
    filter: webhookFilter.nullable().describe('Null: no filter, which every event matches.'),
    event_id: z.string().min(1).max(100).optional().describe('An event of the feed. Either this or `event`.'),
    event: z.record(z.string(), z.unknown()).optional().describe('An event as webhooks receive it, or a part of one.'),
  })
  .meta({
    id: 'TestWebhookFilter',
    example: {
      filter: { all: [{ field: 'status', op: 'eq', value: 'active' }] },
      event: { data: { object: { status: 'active' } } },
    },
  });

const filterTest = z
  .strictObject({
    matches: z.boolean().describe('Whether a webhook with this filter would get a delivery.'),
    conditions: z
      .array(
        z
          .strictObject({
            condition: filterElement,
            holds: z.boolean(),
            value: z.string().nullable().describe('Value of the field in the event. Null: absent, or not a string.'),
          })
          .meta({ id: 'WebhookFilterCondition' }),
      )
      .describe('All conditions, in the order of the filter.'),
  })
  .meta({ id: 'WebhookFilterTest' });
export const oneFilterTest = z.strictObject({ data: filterTest });

/** Result of a filter for an event. */
export type FilterTest = z.infer<typeof filterTest>;
