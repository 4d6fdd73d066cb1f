import { randomBytes } from 'node:crypto';
import { openRedisServers } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { freePort } from '@rms/testkit';
import { createMemorySessionStore } from '../src/session/memory-session-store.ts';
import { createRedisSessionStore, createSessionBox, openSessionStore } from '../src/session/redis-session-store.ts';
import { newSession } from '../src/session/session.ts';
import { describeSessionStore, start } from './session-store-conformance.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const sessionKey = randomBytes(32).toString('base64');

test('while Redis is unavailable, requests fail with service_unavailable, not as signed out', async () => {
  const unavailable = createRedisSessionStore(
    openRedisServers(readSettings({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` }), log),
    createSessionBox(sessionKey),
    log,
  );
  await unavailable.start();
  const session = newSession('usr_1', 1n, start(Date.now()));
  for (const work of [
    () => unavailable.find('hash'),
    () => unavailable.add('hash', session),
    () => unavailable.update('hash', session),
    () => unavailable.remove('hash'),
    () => unavailable.listOf('usr_1'),
    () => unavailable.removeOf('usr_1', session.id),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: 'service_unavailable' });
  }
  expect(await unavailable.healthy()).toBe(false);
  await unavailable.stop();
});

describe('in memory', () => describeSessionStore(() => createMemorySessionStore()));

test('SESSION_KEY must be 32 bytes in base64', () => {
  const open = (settings: Record<string, string>) => () =>
    openSessionStore(readSettings({ REDIS_URL: 'redis://127.0.0.1', ...settings }), log);
  expect(open({})).toThrow('SESSION_KEY must be set');
  expect(open({ SESSION_KEY: 'c2hvcnQ=' })).toThrow('SESSION_KEY: must be 32 bytes in base64, and is too short');
});
