import { waitAtMost, withTimeout } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import { currentOf, SettingsError } from '@rms/runtime/settings';
import type { Redis } from 'ioredis';
import { connectLater, connectTimeoutMs } from './connect-later.ts';
import { slotOf } from './key-slot.ts';
import { parseRedisUrl, type RedisAddress } from './redis-address.ts';
import type { Endpoint } from './redis-connector.ts';
import type { RedisServer, RedisServers } from './redis-servers.ts';

/** How often the map is read again. */
const refreshMs = 5_000;
/** The same after an error. */
const retryMs = 250;
const mapTimeoutMs = 1_000;
/** Errors that make the map be read again. */
const moved = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|NOREPLICAS)\b/;

interface Node extends RedisServer {
  readonly endpoint: Endpoint;
  /** Hash tag of a slot that the node owns: the smallest number, so that all processes use the same one. */
  tag: string;
  detaches: readonly (() => void)[];
}

/**
 * Creates connections to a Redis Cluster's primaries. The cluster's map is read from the URL's node and
 * from all known primaries, every few seconds and after an error. The map with the latest epoch applies, because a node
 * that was isolated has an old one.
 *
 * Commands are not redirected. A node that has lost a slot rejects them, and the caller decides without Redis until the
 * map is known, because the new owner may lack the most recent data.
 * @param connect creates a connection; tests replace it
 */
export function createClusterServers(address: RedisAddress, log: Logger, connect = connectLater): RedisServers {
  const seed = connect(address);
  const nodes = new Map<string, Node>();
  const attaches: ((server: RedisServer) => () => void)[] = [];
  const moveListeners: (() => void)[] = [];
  let owners: readonly (Node | undefined)[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** When the timer ends, in milliseconds of performance.now(). */
  let dueAtMs = Number.POSITIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let isStopped = false;
  let misconfigured: SettingsError | undefined;
  /** The error that was logged last. */
  let reported = '';

  const report = (err: Error) => {
    if (err.message !== reported && !isStopped) log.warn({ err }, 'cannot read the map of the Redis Cluster');
    reported = err.message;
  };
  seed.on('error', (error: Error) => {
    // Known primaries are enough.
    if (nodes.size === 0) report(error);
  });

  const add = (endpoint: Endpoint): Node => {
    const name = nameOf(endpoint);
    const node: Node = {
      endpoint,
      redis: connect(address, endpoint),
      log: log.child({ redis_server: name }),
      tag: '',
      ownKey: (key) => `${key}:{${node.tag}}`,
      detaches: [],
    };
    node.redis.on('error', () => {});
    node.redis.on('close', () => schedule(retryMs));
    nodes.set(name, node);
    return node;
  };
  const remove = (node: Node) => {
    nodes.delete(nameOf(node.endpoint));
    for (const detach of node.detaches) detach();
    node.redis.disconnect();
  };
  const apply = async (ranges: readonly SlotRange[]) => {
    const next: Node[] = [];
    const added: Node[] = [];
    for (const { from, to, primary } of ranges) {
      let node = nodes.get(nameOf(primary));
      if (!node) {
        node = add(primary);
        added.push(node);
      }
      next.length = Math.max(next.length, to + 1);
      next.fill(node, from, to + 1);
    }
    const used = new Set(next);
    for (const node of nodes.values()) {
      if (used.has(node)) node.tag = tagOf(node, next);
      else remove(node);
    }
    const hasMoved =
      owners.length > 0 && (owners.length !== next.length || next.some((node, slot) => node !== owners[slot]));
    if (hasMoved || owners.length === 0) owners = next;
    if (hasMoved) for (const listener of moveListeners) listener();
    for (const node of added) node.detaches = attaches.map((attach) => attach(node));
    await Promise.all(
      added.map(({ redis }) =>
        waitAtMost(
          redis.connect().catch(() => {}),
          connectTimeoutMs,
        ),
      ),
    );
  };

  const sources = (): { redis: Redis; host: string }[] => [
    ...[...nodes.values()].map(({ redis, endpoint }) => ({ redis, host: endpoint.host })),
    { redis: seed, host: parseRedisUrl(currentOf(address.url)).host },
  ];
  const read = async () => {
    const ready = sources().filter(({ redis }) => redis.status === 'ready');
    const results = await Promise.allSettled(
      ready.map(({ redis, host }) => withTimeout(readClusterMap(redis, host), mapTimeoutMs, 'Redis')),
    );
    if (isStopped) return;
    let latest: ClusterMap | undefined;
    let error = new Error('no node is reachable');
    for (const result of results) {
      if (result.status === 'rejected') error = result.reason;
      else if (!latest || result.value.epoch > latest.epoch) latest = result.value;
    }
    if (latest) {
      if (reported !== '') log.info('the map of the Redis Cluster is known');
      reported = '';
      return apply(latest.ranges);
    }
    if (error instanceof SettingsError) misconfigured = error;
    report(error);
    throw error;
  };
  const refresh = async () => {
    timer = undefined;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading.then(
      () => schedule(refreshMs),
      () => schedule(retryMs),
    );
  };
  const schedule = (delayMs: number) => {
    const atMs = performance.now() + delayMs;
    if (isStopped || reading || (timer && dueAtMs <= atMs)) return;
    clearTimeout(timer);
    dueAtMs = atMs;
    timer = setTimeout(() => void refresh(), delayMs);
  };

  return {
    all: () => [...nodes.values()],
    of(key) {
      const node = owners[slotOf(key)];
      if (node) return node;
      schedule(retryMs);
      throw new Error('no known Redis server owns the slot of the key');
    },
    onServer(attach) {
      attaches.push(attach);
    },
    onMove: (listener) => void moveListeners.push(listener),
    comparison() {
      const assigned = owners;
      return async (server) => {
        const node = server as Node;
        const { ranges } = await withTimeout(readClusterMap(node.redis, node.endpoint.host), mapTimeoutMs, 'Redis');
        const own = ranges.filter(({ primary }) => nameOf(primary) === nameOf(node.endpoint));
        const isSame = own.length > 0 && own.every(({ from, to }) => isOwner(assigned, node, from, to));
        if (!isSame) schedule(retryMs);
        // A changed map may have assigned keys to other servers since then.
        return isSame && owners === assigned;
      };
    },
    failed(error) {
      if (moved.test((error as Error | undefined)?.message ?? '')) schedule(retryMs);
    },
    async connect() {
      await waitAtMost(
        seed.connect().catch(() => {}),
        connectTimeoutMs,
      );
      await refresh();
      if (misconfigured) throw misconfigured;
    },
    disconnect() {
      isStopped = true;
      clearTimeout(timer);
      seed.disconnect();
      for (const node of nodes.values()) remove(node);
    },
  };
}

function nameOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}

function isOwner(owners: readonly (Node | undefined)[], node: Node, from: number, to: number): boolean {
  for (let slot = from; slot <= to; slot += 1) if (owners[slot] !== node) return false;
  return true;
}

function tagOf(node: Node, owners: readonly (Node | undefined)[]): string {
  for (let number = 0; ; number += 1) {
    if (owners[slotOf(String(number))] === node) return String(number);
  }
}

/** Consecutive slots, and the primary that owns them. */
interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly primary: Endpoint;
}

/** The slot owners in a Redis Cluster. */
interface ClusterMap {
  /** Grows with each failover and move of slots. */
  readonly epoch: number;
  readonly ranges: readonly SlotRange[];
}

type Slots = readonly (readonly [from: number, to: number, primary: readonly [host: string | null, port: number]])[];

/**
 * Reads a cluster's map from one of its nodes.
 * @param host host that reaches the node; a node may leave out its own
 * @throws SettingsError if the server is not a cluster, or the user lacks a right
 */
async function readClusterMap(redis: Redis, host: string): Promise<ClusterMap> {
  const pipeline = redis.pipeline().call('CLUSTER', 'INFO').call('CLUSTER', 'SLOTS');
  const [info, slots] = ((await pipeline.exec()) ?? []) as [Error | null, unknown][];
  for (const [error] of [info ?? [null], slots ?? [null]]) if (error) throw explained(error, redis);
  const epoch = Number(/cluster_current_epoch:(\d+)/.exec(String(info?.[1]))?.[1]);
  const ranges = ((slots?.[1] ?? []) as Slots).map(([from, to, [name, port]]) => ({
    from,
    to,
    primary: { host: name || host, port },
  }));
  if (ranges.length === 0) throw new Error('the Redis Cluster has no slots');
  return { epoch, ranges };
}

function explained(error: Error, redis: Redis): Error {
  if (/cluster support disabled/i.test(error.message))
    return new SettingsError('REDIS_CLUSTER is true, but the server of REDIS_URL is not a Redis Cluster');
  if (!error.message.startsWith('NOPERM')) return error;
  const user = redis.options.username ?? 'default';
  return new SettingsError(
    `REDIS_URL: the Redis user "${user}" may not run CLUSTER INFO or CLUSTER SLOTS; add to its rules: +cluster|info +cluster|slots`,
  );
}
