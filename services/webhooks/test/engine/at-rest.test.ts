import { createQueue } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { testPool, waitUntil } from '@rms/testkit';
import { DeliveryEngine } from '../../src/engine/engine.ts';
import { webhooksDatabase } from '../support.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const unused = {} as never;

test('while no webhook is scheduled, an engine sends only its heartbeat', async () => {
  const database = await webhooksDatabase();
  const pool = testPool({ url: database.url, max: 2, applicationName: 'engine', log });
  const sent: (string | undefined)[] = [];
  const send = pool.query.bind(pool) as (statement: { name?: string }) => Promise<never>;
  const query = (statement: { name?: string }) => {
    sent.push(statement.name);
    return send(statement);
  };
  const scheduled = createQueue();
  const engine = new DeliveryEngine({
    pool: Object.assign(pool, { query }) as never,
    keyedPool: pool,
    scheduled,
    agents: unused,
    secrets: unused,
    health: unused,
    endings: unused,
    counters: [],
    report: unused,
    reportRejected: () => {},
    log,
    releaseLeases: false,
  });
  const stop = new AbortController();
  scheduled.found(false, performance.now());
  const running = engine.run(stop.signal);
  try {
    await waitUntil(() => sent.length === 2, { what: 'two statements' });
    expect(sent).toEqual(['instances-beat', 'instances-beat']);
    scheduled.found(true, performance.now());
    await waitUntil(() => sent.includes('endpoints-due'), { what: 'a poll' });
  } finally {
    stop.abort();
    await running;
    await pool.end();
    await database.drop();
  }
});
