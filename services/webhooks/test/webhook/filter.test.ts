import { conditionsOf, type FilterElement, type FilterGroup, filterOperators, isGroup } from '@rms/base/webhook-filter';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import fc from 'fast-check';
import { valueIn } from '../../src/webhook/filter.ts';
import { laneOf, newEvent, newTenant, startWebhooks, type Tenant } from '../support.ts';

/** The rules of the specification, condition by condition. */
function naiveMatch(element: FilterElement, event: object): boolean {
  if (isGroup(element)) {
    if (element.all) return element.all.every((one) => naiveMatch(one, event));
    return (element.any ?? []).some((one) => naiveMatch(one, event));
  }
  const { field, op, value } = element;
  const actual = valueIn(event, field);
  const values = [value ?? []].flat();
  if (op === 'exists') return actual !== undefined;
  if (op === 'not_exists') return actual === undefined;
  if (op === 'prefix') return actual?.startsWith(values[0] ?? '') ?? false;
  const isOneOf = actual !== undefined && values.includes(actual);
  return op === 'eq' || op === 'in' ? isOneOf : !isOneOf;
}

/** Few keys and values, so that conditions often hold; with everything that text search could treat specially. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'ab',
    "a'b",
    'a\\',
    'a:*',
    'a=b',
    ' a ',
    '&|!<->()',
    'Ä',
    'ä',
    '😀',
    'a\nb',
    '\t',
    'A',
    "''",
    'x'.repeat(500),
  ),
  fc.string({ unit: 'binary', maxLength: 4 }).filter((one) => one.isWellFormed() && !one.includes('\0')),
);
const key = text.map((one) => [...one].slice(0, 40).join('')).filter((one) => one !== '');
const values = fc.record(
  { name: text, status: text, metadata: fc.dictionary(key, text, { maxKeys: 3 }) },
  { requiredKeys: [] },
);
const anEvent = fc
  .record({ object: values, previous_attributes: values }, { requiredKeys: ['object'] })
  .map((data) => ({ id: 'evt_1', data }));
const own = fc.oneof(
  fc.constantFrom('name', 'status'),
  key.map((one) => `metadata.${one}`),
);
const field = fc.oneof(
  own,
  own.map((one) => `previous_attributes.${one}`),
  fc.constant('input_type'),
);
const condition: fc.Arbitrary<FilterElement> = fc
  .tuple(field, fc.constantFrom(...filterOperators), fc.array(text, { minLength: 1, maxLength: 3 }))
  .map(([name, op, some]) => {
    if (op === 'exists' || op === 'not_exists') return { field: name, op };
    return { field: name, op, value: op === 'in' || op === 'not_in' ? some : (some[0] ?? '') };
  });
const groupOf = (element: fc.Arbitrary<FilterElement>): fc.Arbitrary<FilterGroup> =>
  fc
    .tuple(fc.constantFrom('all', 'any'), fc.array(element, { minLength: 1, maxLength: 3 }))
    .map(([name, elements]) => ({ [name]: elements }));
const aFilter = groupOf(fc.oneof(condition, groupOf(fc.oneof(condition, groupOf(condition)))));

describe('filters', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const test1 = (tenant: Tenant, filter: object, event: object) =>
    rms.webhooks.testFilter({ ...tenant, filter: JSON.stringify(filter), event: Buffer.from(JSON.stringify(event)) });

  test('the evaluator agrees with a naive one about every filter and each of its conditions', async () => {
    const tenant = newTenant();
    let matching = 0;
    await fc.assert(
      fc.asyncProperty(aFilter, anEvent, async (filter, event) => {
        const { matches, conditions } = await test1(tenant, filter, event);
        const all = conditionsOf(filter);
        expect([matches, ...conditions.map(({ holds }) => holds)]).toEqual(
          [filter, ...all].map((element) => naiveMatch(element, event)),
        );
        expect(conditions.map(({ value }) => value)).toEqual(all.map((one) => valueIn(event, one.field)));
        if (matches) matching += 1;
      }),
      { numRuns: 300 },
    );
    expect(matching).toBeGreaterThan(30);
    expect(matching).toBeLessThan(270);
  });

  test('an absent field only satisfies ne, not_in and not_exists; a value of another type only exists', async () => {
    const values = { in: ['x'], not_in: ['x'], exists: undefined, not_exists: undefined } as Record<string, unknown>;
    const all = filterOperators.map((op) => ({ field: 'metadata.k', op, value: op in values ? values[op] : 'x' }));
    const absent = await test1(newTenant(), { any: all }, { data: { object: { metadata: { other: 'x' } } } });
    expect(absent.conditions.filter(({ holds }) => holds).map(({ condition }) => JSON.parse(condition).op)).toEqual([
      'ne',
      'not_in',
      'not_exists',
    ]);
    const previous = { field: 'previous_attributes.metadata', op: 'exists' };
    const event = { data: { previous_attributes: { metadata: {} } } };
    expect((await test1(newTenant(), { all: [previous] }, event)).matches).toBe(true);
    expect((await test1(newTenant(), { all: [{ ...previous, op: 'eq', value: '' }] }, event)).matches).toBe(false);
    for (const odd of [{}, { data: 1 }, { data: { object: [], previous_attributes: 'x' } }]) {
      expect((await test1(newTenant(), { all: [{ field: 'name', op: 'not_exists' }] }, odd)).matches).toBe(true);
    }
  });

  test('an event that does not match makes no delivery and is counted; others are delivered in order', async () => {
    const tenant = newTenant();
    const filter = JSON.stringify({ all: [{ field: 'name', op: 'in', value: ['1', '3'] }] });
    const { id } = await rms.subscribe(tenant, receiver.url, { filter, ordered: true });
    const { id: all } = await rms.subscribe(tenant, receiver.url);
    const { id: disabled } = await rms.subscribe(tenant, receiver.url, { filter, status: WebhookStatus.DISABLED });
    await rms.publish(...laneOf(tenant, 4));
    const log = await rms.settled(tenant, 8);
    const countOf = (webhookId: string, status: DeliveryStatus) =>
      log.filter((one) => one.webhookId === webhookId && one.status === status).length;
    expect([
      countOf(id, DeliveryStatus.DELIVERED),
      countOf(all, DeliveryStatus.DELIVERED),
      countOf(disabled, DeliveryStatus.SKIPPED),
    ]).toEqual([2, 4, 2]);
    expect(await rms.metrics.metrics()).toMatch(/rms_deliveries_filtered_total(?:\{[^}]*\})? 4\n/);
    expect((await rms.webhooks.getWebhook({ ...tenant, id })).webhook?.filter).toBe(filter);
    const { id: eventId = '' } = (await rms.feed.listEvents({ ...tenant, pageSize: 1 })).events[0] ?? {};
    const result = await rms.webhooks.testFilter({ ...tenant, filter, eventId });
    expect([result.matches, result.conditions[0]?.value]).toEqual([false, '0']);
  });

  test('a changed filter applies to later events; an empty one removes it', async () => {
    const tenant = newTenant();
    const filterOf = (name: string) => JSON.stringify({ any: [{ field: 'name', op: 'prefix', value: name }] });
    const { id } = await rms.subscribe(tenant, receiver.url, { filter: filterOf('a') });
    const publish = async (name: string) => rms.publish(newEvent(tenant, 'resource.created', name));
    await publish('b1');
    await rms.webhooks.updateWebhook({ ...tenant, id, filter: filterOf('b') });
    await publish('b2');
    await rms.webhooks.updateWebhook({ ...tenant, id, filter: '' });
    await publish('c3');
    await waitUntil(async () => receiver.requests.length === 2, { what: 'two requests' });
    expect(receiver.requests.map(({ json }) => json.data.object.name).sort()).toEqual(['b2', 'c3']);
  });

  test('a filter moves no other value out of the row of its webhook, and follows its changes', async () => {
    const tenant = newTenant();
    const { pool } = rms.database;
    const all = Array.from({ length: 50 }, (_, i) => ({ field: `metadata.key${i}`, op: 'eq', value: `value ${i}` }));
    const { id } = await rms.subscribe(tenant, receiver.url, { filter: JSON.stringify({ all }) });
    // Statements that read thousands of webhooks would read each moved value, such as the ID, with several more buffers.
    const { rows } = await pool.query(
      `select attname from pg_attribute
        where attrelid = 'webhooks.webhooks'::regclass and attnum > 0 and attlen = -1
          and xpath_exists('/row/moved[text()="true"]', query_to_xml(format(
                'select pg_column_toast_chunk_id(%I) is not null as moved from webhooks.webhooks where id = %L',
                attname, $1::text), false, true, ''))`,
      [id],
    );
    expect(rows).toEqual([{ attname: 'filter_query' }]);
    const copies = async () => {
      const { rows: found } = await pool.query(
        `select query = filter_query as "isSame", pg_column_toast_chunk_id(query) is null as "isInRow"
           from webhooks.filters join webhooks.webhooks using (workspace_id, environment) where webhook_id = id and id = $1`,
        [id],
      );
      return found;
    };
    expect(await copies()).toEqual([{ isSame: true, isInRow: true }]);
    const filter = JSON.stringify({ any: all });
    await rms.webhooks.updateWebhook({ ...tenant, id, filter });
    expect(await copies()).toEqual([{ isSame: true, isInRow: true }]);
    await rms.webhooks.updateWebhook({ ...tenant, id, filter: '' });
    expect(await copies()).toEqual([]);
    await rms.webhooks.updateWebhook({ ...tenant, id, filter });
    await rms.webhooks.deleteWebhook({ ...tenant, id });
    expect((await pool.query('select from webhooks.filters where webhook_id = $1', [id])).rows).toEqual([]);
  });

  test('invalid filters are refused with the place of the problem', async () => {
    const tenant = newTenant();
    const eq = { field: 'name', op: 'eq', value: 'x' };
    const cases: readonly (readonly [unknown, string, RegExp])[] = [
      [[], 'filter', /object with all or any/],
      [{}, 'filter', /either all or any/],
      [{ all: [eq], any: [eq] }, 'filter', /either all or any/],
      [{ all: [] }, 'filter.all', /at least one/],
      [{ all: [{ all: [{ all: [{ all: [eq] }] }] }] }, 'filter.all.0.all.0.all.0', /3 levels/],
      [{ all: Array(51).fill(eq) }, 'filter', /50 conditions/],
      [{ all: [eq, { ...eq, field: 'id' }] }, 'filter.all.1.field', /must be name/],
      [{ all: [{ ...eq, field: 'metadata.' }] }, 'filter.all.0.field', /must be name/],
      [{ all: [{ ...eq, field: `metadata.${'x'.repeat(41)}` }] }, 'filter.all.0.field', /must be name/],
      [{ all: [{ ...eq, field: 'metadata' }] }, 'filter.all.0.field', /must be name/],
      [{ all: [{ ...eq, op: 'like' }] }, 'filter.all.0.op', /one of eq/],
      [{ all: [{ ...eq, value: 1 }] }, 'filter.all.0.value', /string/],
      [{ all: [{ ...eq, value: 'x'.repeat(501) }] }, 'filter.all.0.value', /500/],
      [{ all: [{ ...eq, value: '\0' }] }, 'filter.all.0.value', /NUL/],
      [{ all: [{ ...eq, op: 'in' }] }, 'filter.all.0.value', /list of 1 to 100/],
      [{ all: [{ ...eq, op: 'in', value: Array(101).fill('x') }] }, 'filter.all.0.value', /list of 1 to 100/],
      [{ all: [{ ...eq, op: 'exists' }] }, 'filter.all.0.value', /absent/],
      [{ all: [{ ...eq, more: 1 }] }, 'filter.all.0.more', /unknown/],
      [{ all: Array(20).fill({ ...eq, value: 'x'.repeat(500) }) }, 'filter', /8192 bytes/],
    ];
    for (const [filter, place, message] of cases) {
      const details = expect.arrayContaining([{ field: place, message: expect.stringMatching(message) }]);
      const json = JSON.stringify(filter);
      const invalid = { code: 'invalid_request', details };
      await expect(rms.subscribe(tenant, receiver.url, { filter: json })).rejects.toMatchObject(invalid);
      await expect(rms.webhooks.testFilter({ ...tenant, filter: json, eventId: 'x' })).rejects.toMatchObject(invalid);
    }
    await expect(rms.subscribe(tenant, receiver.url, { filter: '{' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
