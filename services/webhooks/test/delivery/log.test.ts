import { newId } from '@rms/base/ids';
import { perSuite, seededRandom, testDatabase } from '@rms/testkit';
import type { LogFilter, LoggedStatus } from '../../src/delivery/log-filter.ts';
import { type LoggedDelivery, readDeliveries } from '../../src/delivery/log-queries.ts';
import { migrations } from '../../src/migrations.ts';
import { countUnfinished, maxUnfinished } from '../../src/rpc/count-unfinished-deliveries.ts';

const statuses: LoggedStatus[] = ['pending', 'retrying', 'delivered', 'failed', 'skipped'];
const types = ['resource.created', 'resource.updated', 'resource.deleted'];
const environments = ['live', 'sandbox'] as const;
const hourMs = 3_600_000;

type Row = Pick<
  LoggedDelivery,
  'id' | 'environment' | 'eventId' | 'eventType' | 'webhookId' | 'resourceId' | 'requestId' | 'status'
> & {
  readonly atMs: number;
};

describe('the log', () => {
  const database = perSuite(() => testDatabase([migrations]));
  beforeAll(async () => {
    database.breaks(['positions', 'sequences', 'deliveries', 'endings'], 'inserts the rows that lists show one by one');
    await database.pool.query(
      "select webhooks.make_partitions((now() at time zone 'UTC')::date - 3, (now() at time zone 'UTC')::date)",
    );
  });

  const insert = async (workspaceId: string, rows: readonly Row[]) => {
    const { pool } = database;
    for (const row of rows) {
      const { environment, id, eventId, webhookId, eventType, resourceId, requestId, status, atMs } = row;
      await pool.query(
        `insert into webhooks.events
         select $1, $2, $3, 1, $4, $5, 1, $6, '', null, $7
          where not exists (select from webhooks.events where id = $3)`,
        [workspaceId, environment, eventId, eventType, resourceId, requestId, new Date(atMs)],
      );
      const common = [workspaceId, environment, id, eventId, webhookId, eventType, resourceId, requestId];
      if (status === 'pending' || status === 'retrying') {
        await pool.query(
          `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                            request_id, sequence, tries)
           values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)`,
          [...common, status === 'retrying' ? 1 : 0],
        );
      } else {
        await pool.query(
          `insert into webhooks.delivery_log values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'event', '[]', 1, now())`,
          [...common, status],
        );
      }
    }
  };
  const scopeOf = (workspaceId: string, of: readonly ('live' | 'sandbox')[] = environments) => ({
    workspaceId,
    environments: of,
  });
  /** Reads all pages. Returns the IDs and the number of deliveries per page. */
  const readAll = async (scope: ReturnType<typeof scopeOf>, filter: LogFilter, pageSize: number) => {
    const ids: string[] = [];
    const sizes: number[] = [];
    let before: string | undefined;
    do {
      const page = await readDeliveries(database.pool, {
        scope,
        filter: { ...filter, before },
        limit: pageSize,
        attempts: 'none',
      });
      ids.push(...page.deliveries.map(({ id }) => id));
      sizes.push(page.deliveries.length);
      before = page.next;
    } while (before !== undefined);
    return { ids, sizes };
  };

  test('returns correct results for every combination of filters and page sizes', async () => {
    const random = seededRandom(20_261_121);
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
    const now = Date.now();
    const workspaceId = newId('ws');
    const [webhookIds, resourceIds, requestIds] = [3, 12, 30].map((length) =>
      Array.from({ length }, () => newId('wh')),
    ) as [string[], string[], string[]];
    const rows = Array.from({ length: 160 }, () => {
      const atMs = now - Math.floor(random() * 48) * hourMs;
      const event = {
        eventId: newId('evt', atMs),
        eventType: pick(types),
        resourceId: pick(resourceIds),
        requestId: pick(requestIds),
        environment: pick(environments),
        atMs,
      };
      return webhookIds
        .filter(() => random() < 0.6)
        .map((webhookId): Row => {
          const id = `dlv_${event.eventId.slice(4, 14)}${newId('dlv').slice(-16)}`;
          return { ...event, webhookId, id, status: pick(statuses) };
        });
    }).flat();
    await insert(workspaceId, rows);
    await insert(
      newId('ws'),
      rows.slice(0, 20).map((row) => ({ ...row, eventId: newId('evt', row.atMs) })),
    );

    for (let round = 0; round < 250; round += 1) {
      const some = pick(rows);
      const given = <T>(value: T) => (random() < 0.3 ? value : undefined);
      const filter = {
        webhookId: given(pick(webhookIds)),
        statuses: given([pick(statuses), ...statuses.filter(() => random() < 0.3)]),
        eventType: given(pick(types)),
        resourceId: given(some.resourceId),
        requestId: given(some.requestId),
        eventId: random() < 0.1 ? some.eventId : undefined,
        since: given(new Date(now - Math.floor(random() * 48) * hourMs)),
        until: given(new Date(now - Math.floor(random() * 48) * hourMs)),
      };
      const scope = scopeOf(workspaceId, random() < 0.5 ? environments : [pick(environments)]);
      const expected = rows
        .filter(
          (row) =>
            scope.environments.includes(row.environment) &&
            (filter.statuses === undefined || filter.statuses.includes(row.status)) &&
            (['webhookId', 'eventType', 'resourceId', 'requestId', 'eventId'] as const).every(
              (name) => filter[name] === undefined || filter[name] === row[name],
            ) &&
            row.atMs >= (filter.since?.getTime() ?? 0) &&
            row.atMs < (filter.until?.getTime() ?? Number.POSITIVE_INFINITY),
        )
        .map(({ id }) => id)
        .sort()
        .reverse();
      const pageSize = 1 + Math.floor(random() * 40);
      const { ids } = await readAll(scope, filter, pageSize);
      expect({ filter, ids }).toEqual({ filter, ids: expected });
    }
  });

  test('a page is filled by several bounded reads, and no delivery is lost', async () => {
    const workspaceId = newId('ws');
    const webhookId = newId('wh');
    const count = 12_000;
    await database.pool.query(
      `insert into webhooks.delivery_log
       select $1, case when n % 2 = 0 then 'live' else 'sandbox' end,
              webhooks.first_id('dlv', now() - n * interval '1 second') || lpad(n::text, 16, '0'), 'evt_1', $2,
              case when n in (3, 5, 11990, 11991) then 'resource.deleted' else 'resource.created' end, 'res_1', 'req_1',
              case when n % 4000 = 0 then 'failed' else 'delivered' end, 'event', '[]', 1, now()
         from generate_series(1, $3) as n`,
      [workspaceId, webhookId, count],
    );
    const deleted = await readAll(scopeOf(workspaceId), { eventType: 'resource.deleted' }, 3);
    expect(deleted.ids.map((id) => Number(id.slice(-16)))).toEqual([3, 5, 11_990, 11_991]);
    expect(deleted.sizes).toEqual([3, 1]);
    const live = await readAll(scopeOf(workspaceId, ['live']), { webhookId, eventType: 'resource.deleted' }, 3);
    expect(live.ids.map((id) => Number(id.slice(-16)))).toEqual([11_990]);
    // Undelivered deliveries have an index, so only matching rows are read.
    const failed = await readAll(scopeOf(workspaceId), { webhookId, statuses: ['failed'] }, 10);
    expect(failed).toMatchObject({ sizes: [3] });
    expect((await readAll(scopeOf(workspaceId), {}, 1_000)).ids).toHaveLength(count);
  });

  test('a page is bounded in bytes: pages of large deliveries are short, and no delivery is lost', async () => {
    const workspaceId = newId('ws');
    // Random text does not compress. Half of the deliveries have no separately stored last attempt.
    await database.pool.query(
      `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                          request_id, status, origin, created_at, attempts, last_attempt, attempt_count)
       select $1, 'live', webhooks.first_id('dlv', now() - n * interval '1 second') || lpad(n::text, 16, '0'), 'evt_1',
              'wh_1', 'resource.created', 'res_1', 'req_1', 'failed', 'event', now(), jsonb_build_array(attempt),
              case when n % 2 = 0 then webhooks.attempt_summary(attempt) end, case when n % 2 = 0 then 1 end
         from (select n, jsonb_build_object('number', 1, 'at', now(), 'status_code', 500, 'error', 'status: 500',
                        'duration_ms', 1, 'response_body', string_agg(md5(n || ' ' || i), '')) as attempt
                 from generate_series(1, 40) as n, generate_series(1, 6000) as i group by n) as made`,
      [workspaceId],
    );
    const read = async (attempts: 'none' | 'summaries' | 'all') => {
      const deliveries: LoggedDelivery[] = [];
      const sizes: number[] = [];
      let before: string | undefined;
      do {
        const filter = { before };
        const page = await readDeliveries(database.pool, { scope: scopeOf(workspaceId), filter, limit: 30, attempts });
        deliveries.push(...page.deliveries);
        sizes.push(page.deliveries.length);
        before = page.next;
      } while (before !== undefined);
      return { deliveries, sizes };
    };
    const brief = await read('none');
    const summaries = await read('summaries');
    const all = await read('all');
    for (const { deliveries } of [brief, summaries, all]) {
      expect(deliveries.map(({ id }) => Number(id.slice(-16)))).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
      expect(deliveries.map(({ attemptCount }) => attemptCount)).toEqual(deliveries.map(() => 1));
      for (const { lastAttempt } of deliveries) {
        expect(lastAttempt).toMatchObject({ number: 1, status_code: 500 });
        expect(lastAttempt).not.toHaveProperty('response_body');
      }
    }
    // Six deliveries of 188 KiB exceed 1 MiB.
    expect(all.sizes).toEqual([6, 6, 6, 6, 6, 6, 4]);
    expect(summaries.sizes).toEqual(all.sizes);
    expect(Math.max(...brief.sizes)).toBeLessThanOrEqual(12);
    expect(brief.deliveries.map(({ attempts }) => attempts)).toEqual(brief.deliveries.map(() => []));
    expect(summaries.deliveries[0]?.attempts).toEqual([summaries.deliveries[0]?.lastAttempt]);
    expect(all.deliveries[0]?.attempts[0]?.response_body).toHaveLength(192_000);
  });

  test('counts unfinished deliveries per workspace and environment, up to a bound', async () => {
    const workspaceId = newId('ws');
    const count = maxUnfinished + 5;
    await database.pool.query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        request_id, sequence, tries)
       select $1, case when n <= 3 then 'live' else 'sandbox' end, 'dlv_' || n, 'evt_1', 'wh_1', 'resource.created',
              'res_1', 'req_1', 1, n % 2
         from generate_series(1, $2) as n`,
      [workspaceId, count],
    );
    const counted = (...of: Parameters<typeof scopeOf>) => countUnfinished(database.pool, scopeOf(...of));
    await database.pool.query(
      `update webhooks.deliveries set created_at = '2026-01-02T00:00:00Z' where workspace_id = $1 and id = 'dlv_2'`,
      [workspaceId],
    );
    const oldestAt = new Date('2026-01-02T00:00:00Z');
    expect(await counted(workspaceId, ['live'])).toEqual({ count: 3, oldestAt });
    expect(await counted(workspaceId, ['sandbox'])).toMatchObject({ count: maxUnfinished });
    expect(await counted(workspaceId)).toEqual({ count: maxUnfinished, oldestAt });
    expect(await counted(newId('ws'))).toEqual({ count: 0, oldestAt: null });
  });

  test('returns a delivery exactly once while it moves between the queue and the log', async () => {
    const workspaceId = newId('ws');
    const atMs = Date.now();
    const eventId = newId('evt', atMs);
    const id = `dlv_${eventId.slice(4, 14)}${newId('dlv').slice(-16)}`;
    const row = { environment: 'live', eventType: 'resource.created', webhookId: 'wh_1', resourceId: 'res_1' } as const;
    await insert(workspaceId, [{ ...row, id, eventId, requestId: 'req_1', status: 'delivered', atMs }]);
    let going = true;
    const move = async () => {
      for (let i = 0; i < 100; i += 1) {
        const [from, to] = i % 2 === 0 ? ['delivery_log', 'deliveries'] : ['deliveries', 'delivery_log'];
        const more = to === 'deliveries' ? ['sequence', '1'] : ['status', "'delivered'"];
        const columns =
          'workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id, origin, attempts, created_at';
        await database.pool.query(
          `with moved as (delete from webhooks.${from} where id = $1 returning *)
           insert into webhooks.${to} (${columns}, ${more[0]}) select ${columns}, ${more[1]} from moved`,
          [id],
        );
      }
      going = false;
    };
    const read = async () => {
      const counts = new Set<number>();
      while (going) counts.add((await readAll(scopeOf(workspaceId), {}, 10)).ids.length);
      return [...counts];
    };
    const [counts, byEvent] = await Promise.all([read(), read(), move()]);
    expect([counts, byEvent]).toEqual([[1], [1]]);
  });
});
