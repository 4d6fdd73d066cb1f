import { defineEndpoint, oneJson } from '../endpoint.ts';
import { type FilterTest, filterTestBody, oneFilterTest } from './schema.ts';

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
