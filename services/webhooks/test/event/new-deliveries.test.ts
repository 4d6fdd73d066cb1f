import { perSuite } from '@rms/testkit';
import fc from 'fast-check';
import { fanOutDeferred } from '../../src/event/deferred-fan-out.ts';
import { fanOut } from '../../src/event/fan-out-queries.ts';
import { arrivalOf, stepsOn, unknown } from '../leases.ts';
import { newEvent, newTenant, webhooksDatabase } from '../support.ts';

const types = ['resource.created', 'resource.deleted'];
const tenant = fc.record({
  webhooks: fc.array(fc.constantFrom(['*'], ...types.map((type) => [type])), { maxLength: 7 }),
  events: fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 6 }),
});

describe('the statement that creates deliveries', () => {
  const database = perSuite(webhooksDatabase);
  const steps = perSuite(() => stepsOn(database.pool));
  const options = { freeCapacity: { ...unknown, total: 0 } };

  test('creates each matching pair of event and webhook once, in the order of the feed, however small its limit is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(tenant, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 9 }),
        async (given, limit) => {
          const tenants = [];
          for (const { webhooks, events } of given) {
            const owner = newTenant();
            const ids: { id: string; events: readonly string[] }[] = [];
            for (const subscribed of webhooks)
              ids.push({ id: await steps.subscribe(owner, { events: subscribed }), events: subscribed });
            tenants.push({ owner, webhooks: ids, events: events.map((type) => newEvent(owner, type)) });
          }
          const batches = tenants.flatMap(({ events }) => events.map(arrivalOf));
          const { unfinished } = await fanOut(database.pool, batches, { ...options, deliveries: limit });
          for (const { owner, webhooks, events } of tenants) {
            const wanted = events.flatMap(({ id, type }) =>
              webhooks
                .filter((one) => one.events.includes('*') || one.events.includes(type))
                .map((one) => `${id} ${one.id}`),
            );
            const missing = new Set(events.map(({ id }) => id).filter((id) => unfinished.includes(id)));
            const completed: string[] = [];
            for (let before = (await queued(owner.workspaceId)).length; ; ) {
              const step = await fanOutDeferred(
                database.pool,
                { ...owner, environment: 'live' },
                () => options.freeCapacity,
                limit,
              );
              if (!step) break;
              completed.push(...step.completed);
              const after = (await queued(owner.workspaceId)).length;
              expect(after - before).toBeLessThanOrEqual(limit);
              before = after;
            }
            expect(completed).toEqual([...missing]);
            expect((await queued(owner.workspaceId)).toSorted()).toEqual(wanted.toSorted());
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  const queued = async (workspaceId: string) => {
    const { rows } = await database.pool.query<{ pair: string }>(
      "select event_id || ' ' || webhook_id as pair from webhooks.deliveries where workspace_id = $1",
      [workspaceId],
    );
    return rows.map(({ pair }) => pair);
  };
});
