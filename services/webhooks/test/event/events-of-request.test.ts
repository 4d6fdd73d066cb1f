import { newId } from '@rms/base/ids';
import type { Queryable } from '@rms/postgres/db';
import { perSuite } from '@rms/testkit';
import { readDeliveries } from '../../src/delivery/log-queries.ts';
import { readEventProgress } from '../../src/rpc/list-events-of-request.ts';
import { newTenant, webhooksDatabase } from '../support.ts';

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Returns how many rows of the events a plan has read. */
function eventsRead(plan: Plan): number {
  const rows = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0);
  const own = plan['Relation Name']?.startsWith('events') ? rows * plan['Actual Loops'] : 0;
  return (plan.Plans ?? []).reduce((sum, inner) => sum + eventsRead(inner), own);
}

describe('The events of a request ID that a client has sent with very many requests', () => {
  const limit = 10_000;
  const tenant = { ...newTenant(), environment: 'live' };
  const scope = { workspaceId: tenant.workspaceId, environments: ['live', 'sandbox'] as const };
  const requestId = 'always-the-same';
  const statements: { text: string; values: unknown[] }[] = [];
  const database = perSuite(webhooksDatabase);
  beforeAll(async () => {
    const { pool } = database;
    await pool.query(
      `insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                    traceparent, body, created_at)
       select $1, 'live', $2 || lpad(n::text, 6, '0'), n, 'resource.updated', 'res_1', n,
              case when n <= 15000 then $3 else 'other-' || n end, '', '', now()
         from generate_series(1, 60000) as n`,
      [tenant.workspaceId, newId('evt').slice(0, -6), requestId],
    );
    await pool.query("insert into webhooks.feeds values ($1, 'live', 60000)", [tenant.workspaceId]);
    await pool.query('analyze webhooks.events');
    pool.on('acquire', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      Object.assign(client, {
        query(...args: unknown[]) {
          const [text, values] = args;
          if (typeof text === 'string' && Array.isArray(values)) statements.push({ text, values });
          return query(...args);
        },
      });
    });
  });
  beforeEach(() => {
    statements.length = 0;
  });

  /** Returns the number of events that the recorded statements read. */
  const rowsRead = async () => {
    const recorded = [...statements];
    const read: number[] = [];
    for (const { text, values } of recorded) {
      const { rows } = await database.pool.query(`explain (analyze, format json) ${text}`, values);
      read.push(eventsRead(rows[0]['QUERY PLAN'][0].Plan));
    }
    expect(recorded).not.toHaveLength(0);
    return Math.max(...read);
  };

  test('are read up to a limit for its timeline, in ID order', async () => {
    const recording: Queryable = {
      query: (text: string, values: unknown[]) => {
        statements.push({ text, values });
        return database.pool.query(text, values);
      },
    } as never;
    const events = await readEventProgress(recording, scope, requestId, 1_000);
    expect(events).toHaveLength(1_000);
    expect(events.map(({ position }) => position)).toEqual(
      Array.from({ length: 1_000 }, (_, i) => (events[0]?.position as bigint) + BigInt(i)),
    );
    expect(await rowsRead()).toBeLessThanOrEqual(limit);
  });

  test('are read up to a limit for a page of its deliveries', async () => {
    const reading = { scope, filter: { requestId }, limit: 100, attempts: 'none' } as const;
    await readDeliveries(database.pool, reading as never);
    expect(await rowsRead()).toBeLessThanOrEqual(limit);
  });
});
