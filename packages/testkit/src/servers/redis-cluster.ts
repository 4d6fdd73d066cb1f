import { freePort } from '../free-port.ts';
import { waitUntil } from '../wait-until.ts';
import { type RedisServer, type RedisTls, startRedis, tlsSettings } from './redis.ts';

/** A Redis Cluster of three primaries. The first has a replica. */
export interface RedisCluster {
  /** URL of a node other than the first. */
  readonly url: string;
  readonly primaries: readonly [RedisServer, RedisServer, RedisServer];
  readonly replica: RedisServer;
  /** Moves all keys of a slot between primaries, as resharding does. */
  moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void>;
  stop(): Promise<void>;
}

const slots = ['0 5460', '5461 10922', '10923 16383'];
const nodeTimeoutMs = 2_000;

/** Starts the nodes on free ports of loopback. Resolves when all agree about the slots. */
export async function startRedisCluster({ tls }: { tls?: RedisTls } = {}): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())));
  try {
    for (let index = 0; index < 4; index += 1) nodes.push(await startNode(tls));
    const [first, second, third, replica] = nodes as [RedisServer, RedisServer, RedisServer, RedisServer];
    const primaries = [first, second, third] as const;
    for (const [index, node] of primaries.entries()) {
      await node.ask('cluster', 'addslotsrange', ...(slots[index] as string).split(' '));
      await node.ask('config', 'set', 'cluster-replica-validity-factor', '0');
    }
    for (const node of nodes.slice(1)) {
      await node.ask('cluster', 'meet', '127.0.0.1', `${first.port}`, await busPort(first));
    }
    const all = (text: RegExp) => async () =>
      (await Promise.all(nodes.map((node) => node.ask('cluster', 'info')))).every((info) => text.test(info));
    await waitUntil(all(/cluster_state:ok[\s\S]*cluster_known_nodes:4/), { what: 'the nodes to know each other' });
    await replica.ask('cluster', 'replicate', await first.ask('cluster', 'myid'));
    await waitUntil(async () => (await replica.ask('info', 'replication')).includes('master_link_status:up'), {
      what: 'the replica to follow its primary',
    });
    await waitUntil(async () => (await third.ask('cluster', 'nodes')).includes(' slave '), {
      what: 'the replica to be known',
    });
    return {
      url: second.url,
      primaries,
      replica,
      async moveSlot(slot, from, to) {
        const [fromId, toId] = [await from.ask('cluster', 'myid'), await to.ask('cluster', 'myid')];
        await to.ask('cluster', 'setslot', `${slot}`, 'importing', fromId);
        await from.ask('cluster', 'setslot', `${slot}`, 'migrating', toId);
        const keys = (await from.ask('cluster', 'getkeysinslot', `${slot}`, '1000')).split('\n').filter(Boolean);
        const target = ['127.0.0.1', `${to.port}`, '', '0', '5000'];
        if (keys.length > 0) await from.ask('migrate', ...target, 'keys', ...keys);
        for (const node of [to, from]) await node.ask('cluster', 'setslot', `${slot}`, 'node', toId);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startNode(tls: RedisTls | undefined): Promise<RedisServer> {
  return startRedis({
    'cluster-enabled': 'yes',
    // The default, the port plus 10,000, may be in use.
    'cluster-port': `${await freePort()}`,
    'cluster-node-timeout': `${nodeTimeoutMs}`,
    'repl-diskless-sync-delay': '0',
    ...(tls && { ...tlsSettings(tls), 'tls-cluster': 'yes' }),
  });
}

async function busPort(node: RedisServer): Promise<string> {
  return (await node.ask('config', 'get', 'cluster-port')).split('\n')[1] ?? '';
}
