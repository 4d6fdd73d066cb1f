import { SettingsError } from '@rms/runtime/settings';
import type { Redis } from 'ioredis';
import type { Endpoint } from './redis-connector.ts';

/** Consecutive slots, and the primary that owns them. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly primary: Endpoint;
}

/** The slot owners in a Redis Cluster. */
export interface ClusterMap {
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
export async function readClusterMap(redis: Redis, host: string): Promise<ClusterMap> {
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
