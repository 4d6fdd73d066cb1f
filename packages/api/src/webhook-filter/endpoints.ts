import { filterOperators, filterProblems } from '@rms/base/webhook-filter';
import { z } from 'zod';
import { defineEndpoint, oneJson } from '../endpoint.ts';

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

const filterTestBody = z
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
const oneFilterTest = z.strictObject({ data: filterTest });

/** Result of a filter for an event. */
type FilterTest = z.infer<typeof filterTest>;

export const testFilter = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/filter_test',
  operationId: 'testWebhookFilter',
  summary: 'Test a filter',
  description: 'Evaluates a filter, and each of its conditions, for an event. Changes nothing.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  idempotent: true,
  body: filterTestBody,
  bodyNamesObject: true,
  success: { status: 200, description: 'The result of the filter and of each condition.', schema: oneFilterTest },
  async handle({ context, body, tenant, backend, signal, may }) {
    const { workspaceId, environment } = tenant;
    const { matches, conditions } = await backend.webhooks.testFilter(
      {
        workspaceId,
        environment,
        filter: body.filter === null ? '' : JSON.stringify(body.filter),
        eventId: body.event_id ?? '',
        withOperational: may('events:admin'),
        ...(body.event === undefined ? {} : { event: Buffer.from(JSON.stringify(body.event)) }),
      },
      { context: context(), signal: signal() },
    );
    const result: FilterTest = {
      matches,
      conditions: conditions.map(({ condition, holds, value }) => ({
        condition: JSON.parse(condition) as FilterTest['conditions'][number]['condition'],
        holds,
        value: value ?? null,
      })),
    };
    return { status: 200, json: oneJson(JSON.stringify(result)) };
  },
});
