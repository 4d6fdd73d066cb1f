import type { RedisServer, RedisServers } from '@rms/redis';
import type { KeyChange } from '../src/index.ts';
import { confirmMarkers } from '../src/redis-markers.ts';

interface Behavior {
  readonly isDown?: boolean;
  readonly rejectsMarkers?: boolean;
  /** Whether the server owns a slot that is assigned to another one. */
  readonly ownsMore?: boolean;
}

/** Servers by the first letter of their workspaces. */
function start(behaviors: Readonly<Record<string, Behavior>>) {
  const confirmed: string[] = [];
  const marked: string[] = [];
  const compared: string[] = [];
  const all = Object.entries(behaviors).map(([name, { isDown, rejectsMarkers }]) => {
    const reply = async <T>(value: T): Promise<T> => {
      if (isDown) throw new Error(`${name} is down`);
      return value;
    };
    const redis = {
      info: () => reply('run_id:abc'),
      time: () => reply(['1', '0']),
      async set(_key: string, runId: string, _mode: string, untilMs: number) {
        confirmed.push(`${name} ${runId} ${untilMs}`);
        return reply('OK');
      },
      async rmsSetMarker(key: string) {
        if (rejectsMarkers) throw new Error(`MOVED: ${name} does not own the slot`);
        await reply(marked.push(key));
      },
    };
    return { name, redis, ownKey: (key: string) => key } as unknown as RedisServer & { name: string };
  });
  const servers = {
    all: () => all,
    of(key: string) {
      const server = all.find(({ name }) => key.startsWith(`rms:{${name}`));
      if (!server) throw new Error('no known Redis server owns the slot of the key');
      return server;
    },
    comparison: () => async (server: { name: string }) => {
      compared.push(server.name);
      return behaviors[server.name]?.ownsMore !== true;
    },
    failed() {},
  } as unknown as RedisServers;
  const done: string[] = [];
  const confirm = (workspaces: readonly string[]) =>
    confirmMarkers(servers, async (set) => {
      const changes = workspaces.map((workspaceId): KeyChange => ({ workspaceId, keyId: 'key', version: 2 }));
      done.push(...(await set(changes)).map(({ workspaceId }) => workspaceId));
    });
  return { confirm, confirmed, marked, compared, done };
}

describe('confirming revocation markers on several Redis servers', () => {
  test('while all respond, all are confirmed without reading their slots', async () => {
    const { confirm, confirmed, compared, done } = start({ a: {}, b: {} });
    await confirm(['a1', 'b1', 'b2']);
    expect(done).toEqual(['a1', 'b1', 'b2']);
    expect(confirmed).toEqual(['a abc 7000', 'b abc 7000']);
    expect(compared).toEqual([]);
  });

  test('a server that is down is not confirmed, and its markers stay pending; the others are confirmed', async () => {
    const { confirm, confirmed, marked, done } = start({ a: { isDown: true }, b: {} });
    await expect(confirm(['a1', 'b1'])).rejects.toThrow('a is down');
    expect(marked).toEqual(['rms:{b1}:mark:key']);
    expect(done).toEqual(['b1']);
    expect(confirmed).toEqual(['b abc 7000']);
  });

  test('a server that rejects a marker is not confirmed', async () => {
    const { confirm, confirmed, done } = start({ a: { rejectsMarkers: true }, b: {} });
    await expect(confirm(['b1', 'a1'])).rejects.toThrow('MOVED');
    expect(done).toEqual(['b1']);
    expect(confirmed).toEqual(['b abc 7000']);
  });

  test('a server that owns an unknown slot is not confirmed while a marker is not set', async () => {
    const { confirm, confirmed } = start({ a: { isDown: true }, b: { ownsMore: true }, c: {} });
    await expect(confirm(['a1'])).rejects.toThrow('a is down');
    expect(confirmed).toEqual(['c abc 7000']);
  });

  test('the same applies if the owner of a marker is unknown', async () => {
    const { confirm, confirmed, compared, done } = start({ a: {}, b: { ownsMore: true } });
    await expect(confirm(['x1', 'a1'])).rejects.toThrow('no known Redis server');
    expect(done).toEqual(['a1']);
    expect(compared).toEqual(['a', 'b']);
    expect(confirmed).toEqual(['a abc 7000']);
  });

  test('changes are not read if no server responds', async () => {
    const { confirm, confirmed, done } = start({ a: { isDown: true } });
    await expect(confirm(['a1'])).rejects.toThrow('a is down');
    expect([...done, ...confirmed]).toEqual([]);
  });
});
