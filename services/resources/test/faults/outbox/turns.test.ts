import { EventEmitter } from 'node:events';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { turnLoop } from '@rms/testkit';
import { createRelay } from '../../../src/outbox/relay.ts';

/** A session with an empty outbox; the relay holds all partitions. */
class EmptySession extends EventEmitter {
  async query(statement: string | { text: string }) {
    const text = typeof statement === 'string' ? statement : statement.text;
    if (text.includes('transaction_read_only')) return { rows: [{ read_only: 'off' }] };
    if (text.includes('pg_try_advisory_lock')) return { rows: [{ partition: 0 }] };
    return { rows: [], rowCount: 0 };
  }
  release() {}
}

test('100,000 turns of the relay, with many sessions, leave nothing behind', async () => {
  const sessions: EmptySession[] = [];
  const connect = async () => {
    const session = new EmptySession();
    sessions[sessions.length % 2] = session;
    return session;
  };
  const pool = { connect, query: async () => ({ rows: [], rowCount: 0 }) } as never;
  const log = createLogger({ name: 'relay', level: 'silent' });
  const relay = createRelay({
    pool,
    keyedPool: pool,
    bus: {} as never,
    topic: 't',
    partitions: 1,
    log,
    metrics: createMetrics('test'),
  });
  const { listeners, bytesPerTurn } = await turnLoop((signal) => relay.run(signal));
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});
