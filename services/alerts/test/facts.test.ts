import { type Tenant, toTenant } from '@rms/base/tenant';
import { inTransaction } from '@rms/postgres/db';
import { perSuite } from '@rms/testkit';
import { readFacts } from '../src/evaluate/fact-queries.ts';
import { addDeliveries, deliveryGroupNames, noSums, rowsOf } from '../src/usage/usage.ts';
import { addDeliveryCounts, addRuns } from '../src/usage/usage-queries.ts';
import { alertsDatabase, newTenant } from './support.ts';

const webhookIds = ['wh_1', 'wh_2', 'wh_3'];
const minuteMs = 60_000;
const daySeconds = 24 * 3_600;
const hourMs = Date.UTC(2026, 4, 3, 10);

describe('The facts of a tenant with an attempt per minute and webhook', () => {
  const database = perSuite(alertsDatabase);

  /** Adds an attempt per minute and webhook, in the 26 hours until `endMs`. */
  const addAttempts = async (endMs: number): Promise<Tenant> => {
    const tenant = toTenant(newTenant());
    const of = { ...tenant, url: 'https://example.com/', lastError: '' };
    const counted = webhookIds.flatMap((webhookId) =>
      Array.from({ length: 26 * 60 }, (_, i) => ({
        ...of,
        ...noSums([...deliveryGroupNames, 'failedAttempts']),
        webhookId,
        attempts: 1,
        failuresAtEnd: 0,
        atMs: endMs - i * minuteMs,
      })),
    );
    await addDeliveryCounts(
      database.pool,
      rowsOf(counted, ({ webhookId }) => webhookId, addDeliveries),
    );
    const run = { ...of, failures: 0, lastAttemptMs: endMs, lastSuccessMs: endMs };
    await addRuns(
      database.pool,
      webhookIds.map((webhookId) => ({ ...run, webhookId })),
    );
    return tenant;
  };

  /** Returns the attempts of each webhook in a window, and the counts that the statements have read. */
  const read = (tenant: Tenant, seconds: number, nowMs: number) =>
    inTransaction(database.pool, async (tx) => {
      const countRead = async () => {
        const { rows } = await tx.query<{ read: number }>(
          `select (idx_tup_fetch + seq_tup_read)::integer as read from pg_stat_xact_user_tables
            where schemaname = 'alerts' and relname = 'delivery_counts'`,
        );
        return rows[0]?.read ?? 0;
      };
      const before = await countRead();
      const windows = { apiErrorRate: seconds, rateLimited: seconds, deliveryFailureRate: seconds };
      const { webhooks } = await readFacts(tx, tenant, windows, new Date(nowMs));
      return { attempts: webhooks.map(({ attempts }) => attempts), countsRead: (await countRead()) - before };
    });

  test.each([0, 1, 20, 59])(
    'contain each minute of a window that ends %i minutes after a whole hour',
    async (minute) => {
      const endMs = hourMs + minute * minuteMs;
      const tenant = await addAttempts(endMs);
      for (const nowMs of [endMs, endMs + minuteMs / 2])
        for (const seconds of [60, 300, 3_540, 3_600, 3_660, 2 * 3_600, daySeconds - 60, daySeconds])
          expect((await read(tenant, seconds, nowMs)).attempts).toEqual(webhookIds.map(() => seconds / 60));
    },
  );

  test('are read from at most 83 counts per webhook, because other tenants wait for the evaluation', async () => {
    const tenant = await addAttempts(hourMs);
    await database.pool.query('analyze alerts.delivery_counts');
    const { attempts, countsRead } = await read(tenant, daySeconds, hourMs);
    expect(attempts).toEqual(webhookIds.map(() => daySeconds / 60));
    expect(countsRead).toBeLessThanOrEqual(83 * webhookIds.length);
  });
});
