import { newId } from '@rms/base/ids';
import { checkDeliveryTables, type Finding, type TestDatabase } from '@rms/testkit';
import { recordAttempts } from '../src/engine/record/recorder.ts';
import { fanOut } from '../src/event/fan-out-queries.ts';
import { arrivalOf, responded, stepsOn, unknown } from './leases.ts';
import { newEvent, newTenant, webhooksDatabase } from './support.ts';

describe('the check of the delivery tables', () => {
  const tenant = newTenant();
  const { workspaceId } = tenant;
  let database: TestDatabase;
  let webhook: string;
  /** Of one resource: a delivered one, a queued one and a deferred one. */
  let events: readonly ReturnType<typeof newEvent>[];
  beforeEach(async () => {
    database = await webhooksDatabase();
    const steps = stepsOn(database.pool);
    webhook = await steps.subscribe(tenant);
    const resourceId = `res_${webhook}`;
    const created = () => newEvent(tenant, 'resource.updated', 'thing', resourceId);
    const [delivered, queued, deferred] = [created(), created(), created()];
    events = [delivered, queued, deferred];
    const [job] = await steps.store([delivered], 1);
    await recordAttempts(database.pool, [responded(job, 200)]);
    await steps.store([queued]);
    await fanOut(database.pool, [arrivalOf(deferred)], { freeCapacity: { ...unknown, total: 0 }, deliveries: 0 });
  });

  const idOf = (index: number) => events[index]?.id ?? '';
  /** Runs a statement with the event IDs as parameters, and checks the tables. */
  const findingsAfter = async (statement: string): Promise<readonly Finding[]> => {
    const given = [1, 2, 3].filter((n) => statement.includes(`$${n}`));
    const renumbered = given.reduce((text, n, i) => text.replaceAll(`$${n}`, `$${i + 1}`), statement);
    const { rowCount } = await database.pool.query(
      renumbered,
      given.map((n) => idOf(n - 1)),
    );
    expect(rowCount).toBe(1);
    return checkDeliveryTables(database.pool);
  };
  const found = (findings: readonly Finding[]) => findings.map(({ invariant, text }) => `${invariant}: ${text}`);
  const missing = (index: number) =>
    `deliveries: ${workspaceId} live: event ${idOf(index)} (resource.updated, position ${index + 1}) has no delivery to ` +
    `webhook ${webhook} in the queue or the log, and is not deferred`;

  test('finds nothing in the tables of a running service', async () => {
    expect(await checkDeliveryTables(database.pool)).toEqual([]);
    await database.drop();
  });

  describe('finds', () => {
    afterEach(() => database.drop());

    test('a lost event by the positions and sequences around it, and by its delivery', async () => {
      database.breaks(['positions', 'sequences', 'deliveries'], 'deletes an event');
      const { rows } = await database.pool.query('select id from webhooks.deliveries');
      expect(found(await findingsAfter('delete from webhooks.events where id = $2'))).toEqual([
        `positions: ${workspaceId} live: event ${idOf(2)} has position 3 after position 1`,
        `sequences: ${workspaceId} live: event ${idOf(2)} has sequence 3 of resource res_${webhook} after sequence 1`,
        `deliveries: ${workspaceId} live: event ${idOf(1)} of delivery ${rows[0].id} to webhook ${webhook} in the queue is not stored`,
      ]);
    });

    test.each([
      ['queued', 1, 'delete from webhooks.deliveries where event_id = $2'],
      ['logged', 0, 'delete from webhooks.delivery_log where event_id = $1'],
    ])('a lost %s delivery', async (_, index, statement) => {
      database.breaks(['deliveries'], 'deletes a delivery');
      expect(found(await findingsAfter(statement))).toEqual([missing(index)]);
    });

    test('a lost deferred event, also if it is lost for some of the webhooks only', async () => {
      database.breaks(['deliveries'], 'deletes a deferred event');
      const skipping = `update webhooks.deferred_events set after_webhook = '${webhook}' where event_id = $3`;
      expect(found(await findingsAfter(skipping))).toEqual([missing(2)]);
      expect(found(await findingsAfter('delete from webhooks.deferred_events where event_id = $3'))).toEqual([
        missing(2),
      ]);
    });

    test('a delivery with another ID than that of its event and webhook', async () => {
      database.breaks(['deliveries'], 'changes the ID of a delivery');
      const statement = `update webhooks.deliveries set id = id || '0' where event_id = $2`;
      expect(found(await findingsAfter(statement))).toEqual([missing(1)]);
    });

    test('a delivery that is in the queue and in the log', async () => {
      database.breaks(['deliveries'], 'copies a delivery');
      const columns =
        'workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id, attempts';
      const copy = `
        insert into webhooks.deliveries (${columns}, sequence) select ${columns}, 1 from webhooks.delivery_log
         where event_id = $1 returning id`;
      const findings = await findingsAfter(copy);
      const { rows } = await database.pool.query('select id from webhooks.delivery_log');
      expect(found(findings)).toEqual([
        `deliveries: ${workspaceId} live: delivery ${rows[0].id} of event ${idOf(0)} to webhook ${webhook} is in the queue and the log`,
      ]);
    });

    test('a delivery that ended without an attempt or a reason', async () => {
      database.breaks(['endings'], 'removes the attempt of a delivery');
      const { rows } = await database.pool.query('select id from webhooks.delivery_log');
      const ended = `endings: ${workspaceId} live: delivery ${rows[0].id} of event ${idOf(0)} to webhook ${webhook}`;
      const without = "set attempts = '[]', attempt_count = 0";
      expect(found(await findingsAfter(`update webhooks.delivery_log ${without} where event_id = $1`))).toEqual([
        `${ended} is delivered without an attempt`,
      ]);
      const failing = "update webhooks.delivery_log set status = 'failed' where event_id = $1";
      expect(found(await findingsAfter(failing))).toEqual([`${ended} is failed without an attempt or a reason`]);
    });

    test('a missing position', async () => {
      database.breaks(['positions', 'deliveries'], 'moves a deferred event in the feed');
      const [first] = found(await findingsAfter('update webhooks.events set position = 5 where id = $3'));
      expect(first).toBe(`positions: ${workspaceId} live: event ${idOf(2)} has position 5 after position 2`);
    });

    test('a repeated position', async () => {
      database.breaks(['positions'], 'moves an event in the feed');
      const [first] = found(await findingsAfter('update webhooks.events set position = 1 where id = $2'));
      expect(first).toMatch(
        new RegExp(`^positions: ${workspaceId} live: event evt_\\w+ has position 1 after position 1$`),
      );
    });

    test.each([
      ['update webhooks.feeds set last_position = 2', '2'],
      ['update webhooks.feeds set last_position = 4', '4'],
      ['delete from webhooks.feeds', 'nothing'],
    ])('a feed that counts differently: %s', async (statement, counted) => {
      database.breaks(['positions'], 'changes the counter of a feed');
      expect(found(await findingsAfter(statement))).toEqual([
        `positions: ${workspaceId} live: the last event has position 3, the feed counts ${counted}`,
      ]);
    });

    test('a missing version of a resource', async () => {
      database.breaks(['sequences'], 'skips a version');
      expect(found(await findingsAfter('update webhooks.events set sequence = 4 where id = $3'))).toEqual([
        `sequences: ${workspaceId} live: event ${idOf(2)} has sequence 4 of resource res_${webhook} after sequence 2`,
      ]);
    });
  });

  test.each([
    ['events from before a webhook', 'update webhooks.webhooks set created_at = now(), updated_at = now()'],
    ['events from before a change of a webhook', 'update webhooks.webhooks set updated_at = now()'],
    ['types to which a webhook does not subscribe', "update webhooks.webhooks set events = '{resource.deleted}'"],
    ['deleted webhooks', 'delete from webhooks.webhooks'],
    [
      'deleted workspaces',
      `insert into webhooks.deleted_workspaces (workspace_id, sweep_at) values ('${workspaceId}', now())`,
    ],
  ])('expects no deliveries of %s', async (_, statement) => {
    expect(await findingsAfter(statement)).toEqual([]);
    await database.pool.query('delete from webhooks.deliveries; delete from webhooks.deferred_events');
    expect(await checkDeliveryTables(database.pool)).toEqual([]);
    await database.drop();
  });

  test('expects no deliveries to a webhook whose creation was committed after the event', async () => {
    const creating = await database.pool.connect();
    await creating.query(`begin; insert into webhooks.webhooks
      select (jsonb_populate_record(w, jsonb_build_object('id', 'wh_later', 'created_at', now(), 'updated_at', now()))).*
        from webhooks.webhooks as w;
      insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
      values ('${workspaceId}', 'live', '${newId('aud')}', '', '', '', 'webhook.created', 'wh_later', '{}')`);
    await stepsOn(database.pool).store([newEvent(tenant)]);
    await creating.query('commit');
    creating.release();
    expect(await checkDeliveryTables(database.pool)).toEqual([]);
    await database.drop();
  });

  test('expects no body, no event of a test delivery, and no attempt of a skipped or canceled one', async () => {
    await database.pool.query(`update webhooks.events set body = null;
      insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                         request_id, status, end_reason, origin, attempts, attempt_count, created_at)
      select workspace_id, environment, id || n, case ending.origin when 'test' then 'evt_test' else event_id end, webhook_id,
             event_type, resource_id, request_id, status, reason, ending.origin, case ending.origin when 'test' then '[{}]'::jsonb else '[]' end,
             null, created_at
        from webhooks.deliveries
       cross join (values (1, 'delivered', null, 'test'), (2, 'skipped', 'webhook_disabled', 'event'),
                          (3, 'failed', 'canceled', 'event')) as ending (n, status, reason, origin)`);
    expect(await checkDeliveryTables(database.pool)).toEqual([]);
    await database.drop();
  });

  test('allows the positions that a new epoch of the feed skips', async () => {
    await database.pool.query('update webhooks.feeds set last_position = last_position + 1000000');
    expect(await checkDeliveryTables(database.pool)).toEqual([]);
    await stepsOn(database.pool).store([newEvent(tenant), newEvent(tenant)]);
    expect(await checkDeliveryTables(database.pool)).toEqual([]);
    await database.drop();
  });

  test('fails the suite when its database is dropped, and so does a declared violation that is not found', async () => {
    const other = await webhooksDatabase();
    other.breaks(['endings'], 'nothing');
    await expect(other.drop()).rejects.toThrow('endings: no violation found, so remove the exception for "nothing"');
    await database.pool.query('delete from webhooks.deliveries');
    await expect(database.drop()).rejects.toThrow(missing(1));
  });
});
