import { createKafkaBus } from '@rms/bus';
import { loopbackOnly } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import {
  describeWith,
  freePort,
  isServing,
  type Kafka,
  mountSmallDisk,
  type Network,
  type PostgresServer,
  perSuite,
  startKafka,
  startNetwork,
  startPostgresAt,
  startReceiver,
  waitUntil,
} from '@rms/testkit';
import pg from 'pg';
import { openSettings } from '../api/suites/all.ts';
import type { One, Resource } from '../api/support/api-types.ts';
import { gateOf } from './gate.ts';
import { type Watched, watchWorkspace, whole } from './watched.ts';
import { startWriteRun } from './write-run.ts';

const writes = 300;
/** Just enough for the cluster, its databases and their write-ahead log. */
const diskMegabytes = 256;
const smallLog = { min_wal_size: '32MB', max_wal_size: '64MB' };

describeWith(
  ['redis', 'java', 'small-disk'],
  'Invariant 8: Kafka and PostgreSQL restarted, and a full disk, under load',
  () => {
    let postgres: PostgresServer;
    let kafka: Kafka;
    let network: Network;
    let metricsPort: number;
    let db: pg.Pool;

    afterAll(async () => {
      await db?.end();
      await network?.stop();
      await kafka?.stop();
      await postgres?.stop();
    });
    const disk = perSuite(() => mountSmallDisk(diskMegabytes));
    const receiver = perSuite(() => startReceiver({ path: '' }));
    beforeAll(async () => {
      postgres = await startPostgresAt(disk.path, smallLog);
      kafka = await startKafka({ brokers: 1 });
      const env = { ...openSettings, KAFKA_BROKERS: kafka.brokers };
      metricsPort = await freePort();
      const serviceEnv = { webhooks: { METRICS_ADDRESS: `127.0.0.1:${metricsPort}` } };
      network = await startNetwork({ env, serviceEnv, databaseUrl: postgres.url });
      db = new pg.Pool({ connectionString: network.env.DATABASE_URL, max: 4 });
      db.on('error', () => {});
    });

    /** Readiness of a gateway and of the services behind it. */
    const readiness = async () => {
      const response = await fetch(new URL('/readyz', network.gateways[0]?.metricsUrl));
      const { failing } = (await response.json()) as { failing: string[] };
      const stateOf = (name: string) => [name, failing.includes(name) ? 'down' : 'up'] as const;
      return {
        status: response.status,
        ...Object.fromEntries(['auth', 'resources', 'webhooks', 'limiter'].map(stateOf)),
      };
    };
    const waitForReadiness = async (expected: object) => {
      const what = `readiness to be ${JSON.stringify(expected)}`;
      const fits = async () => {
        expect(await readiness()).toMatchObject(expected);
        return true;
      };
      await waitUntil(fits, { what, everyMs: 100 });
    };
    const allReady = { status: 200, auth: 'up', resources: 'up', webhooks: 'up' };
    const isUp = (address: string | undefined) => isServing(address ?? '', loopbackOnly);

    /** Sends one create, without retries. */
    const create = ({ client }: Watched, name: string) => client.post<One<Resource>>('/v1/resources', { name });

    test('an unreadable record becomes a dead letter with its reason, is counted, and blocks nothing', async () => {
      const watched = await watchWorkspace(network, receiver, db);
      const prefix = network.env.KAFKA_PREFIX;
      const log = createLogger({ name: 'test', level: 'silent' });
      const bus = createKafkaBus({ brokers: kafka.brokers.split(','), clientId: 'test', log });
      await bus.start([]);
      const run = startWriteRun(watched.client, writes, 'poison');
      const value = Buffer.from([0xff, 0, 1]);
      for (let partition = 0; partition < 6; partition += 1) {
        const records = [{ key: `poison-${partition}`, value, headers: { 'x-request-id': 'req_poison' } }];
        await bus.publish({ topic: `${prefix}.resource-events.v1`, partition, records }, AbortSignal.timeout(60_000));
      }
      expect(await watched.tally(await run.done)).toMatchObject({ ...whole(writes), repeats: 0 });
      const { rows } = await waitUntil(
        async () => {
          const found = await db.query('select * from webhooks.dead_letters order by bus_partition');
          return found.rowCount === 6 ? found : undefined;
        },
        { what: 'the dead letters' },
      );
      for (const [partition, row] of rows.entries()) {
        expect(row).toMatchObject({
          ...{
            topic: `${prefix}.resource-events.v1`,
            bus_partition: partition,
            bus_offset: expect.stringMatching(/^\d+$/),
          },
          ...{ key: Buffer.from(`poison-${partition}`), value, headers: { 'x-request-id': 'req_poison' } },
          ...{ reason: 'unreadable', parked: false },
        });
      }
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      expect(metrics).toContain('rms_dead_letters_total{reason="unreadable",service="webhooks"} 6');
      await bus.stop();
    });

    test('Kafka restarted: writes continue, webhooks reports not ready, without loss or repeats', async () => {
      const watched = await watchWorkspace(network, receiver, db);
      const run = startWriteRun(watched.client, writes, 'broker');
      await waitUntil(() => run.responded() >= writes / 3, { what: 'a third of the writes' });
      await kafka.kill(0);
      const ids = await run.done;
      await waitForReadiness({ ...allReady, webhooks: 'down' });
      await kafka.restart(0);
      await waitForReadiness(allReady);
      expect(await watched.tally(ids)).toMatchObject({ ...whole(writes), repeats: 0 });
    });

    test('PostgreSQL restarted: 503 and not ready, then automatic recovery, without loss or repeats', async () => {
      const watched = await watchWorkspace(network, receiver, db);
      const gate = gateOf(receiver);
      const run = startWriteRun(watched.client, writes, 'postgres');
      await waitUntil(() => run.responded() >= writes / 3, { what: 'a third of the writes' });
      gate.close();
      await gate.waitForHeld(1);
      await postgres.kill();
      // These attempts end while the database cannot record them.
      gate.open();
      const refused = await create(watched, 'meanwhile');
      expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': expect.any(String) } });
      await waitForReadiness({ status: 503, auth: 'down', resources: 'down', webhooks: 'down' });
      expect(await isUp(network.webhooksAddress)).toBe(false);
      await postgres.restart();
      await waitForReadiness(allReady);
      expect(await watched.tally(await run.done)).toMatchObject({ ...whole(writes), repeats: 0 });
    });

    test('a full disk: 503, never a wrong 2xx, not ready, then automatic recovery without loss or repeats', async () => {
      const watched = await watchWorkspace(network, receiver, db);
      const run = startWriteRun(watched.client, writes, 'disk');
      await waitUntil(() => run.responded() >= writes / 3, { what: 'a third of the writes' });
      disk.fill();
      // Tables still have some free space within their pages.
      const probes: string[] = [];
      await waitUntil(
        async () => {
          const response = await create(watched, `probe ${probes.length}`);
          if (response.status === 201) probes.push(response.body.data.id);
          else expect(response.status).toBe(503);
          return response.status === 503;
        },
        { what: 'a rejected create', everyMs: 0 },
      );
      await waitForReadiness({ resources: 'down' });
      // PostgreSQL panics when it cannot write the next log file, and does not restart without free space.
      await waitUntil(async () => (await db.query('select pg_switch_wal()').catch(() => 'gone')) === 'gone', {
        what: 'PostgreSQL to fail for lack of disk space',
      });
      await waitForReadiness({ status: 503, auth: 'down', resources: 'down', webhooks: 'down' });
      disk.free();
      // Restarts PostgreSQL as an init system would.
      if (!postgres.isRunning()) await postgres.restart();
      await waitForReadiness(allReady);
      const ids = [...(await run.done), ...probes];
      expect(await watched.tally(ids)).toMatchObject({ ...whole(ids.length), repeats: 0 });
    });
  },
);
