import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { waitUntil } from '../wait-until.ts';
import { type Program, startProgram } from './program.ts';
import { type RedisServer, type RedisTls, startRedis, tlsSettings } from './redis.ts';
import { redisCli } from './redis-cli.ts';
import { inTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** A primary with a replica, and three sentinels that fail over within seconds. */
export interface RedisSentinels {
  /** Name under which the sentinels know the primary. */
  readonly name: string;
  /** "host:port" of the sentinels. */
  readonly sentinels: readonly string[];
  readonly servers: readonly [RedisServer, RedisServer];
  /** Returns the server that the sentinels call the primary. */
  primary(): Promise<RedisServer>;
  /** Promotes the replica while the primary runs, and makes the primary its replica. */
  failOver(): Promise<void>;
  /** Stops one sentinel with SIGSTOP, or continues it. */
  pauseSentinel(index: number, isPaused: boolean): void;
  /** Kills one sentinel. */
  killSentinel(index: number): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisSentinelsOptions {
  /** Password of the sentinels; the Redis servers have none. */
  readonly sentinelPassword?: string;
  /** Files of the servers and sentinels; default: without TLS. */
  readonly tls?: RedisTls;
}

const name = 'Primary-1';
const quorum = 2;

/** Starts the servers on free ports of loopback. */
export function startRedisSentinels(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
  return inTemporaryFolder('sentinels', (folder) => startIn(folder, options));
}

async function startIn(
  folder: TemporaryFolder,
  { sentinelPassword: password, tls }: RedisSentinelsOptions,
): Promise<RedisSentinels> {
  const sync = { 'repl-diskless-sync-delay': '0', ...(tls && tlsSettings(tls)) };
  const cli = { password, caFile: tls?.caFile };
  const first = await startRedis(sync);
  const servers = [first, await startRedis({ ...sync, replicaof: `127.0.0.1 ${first.port}` })] as const;
  const sentinels: { port: number; program: Program }[] = [];
  for (let index = 0; index < 3; index += 1) {
    const port = await freePort();
    sentinels.push({ port, program: await startSentinel(folder, { index, port, first, password, tls }) });
  }
  const ask = (port: number, ...args: string[]) => redisCli(port, ['sentinel', ...args], cli);
  await waitUntil(
    async () => {
      const states = await Promise.all(sentinels.map(({ port }) => redisCli(port, ['info', 'sentinel'], cli)));
      return states.every((state) => /status=ok.*slaves=1,sentinels=3/.test(state));
    },
    { what: 'the sentinels to know each other and the replica' },
  );
  const primary = async () => {
    const last = sentinels.at(-1) as { port: number };
    const [, port] = (await ask(last.port, 'get-master-addr-by-name', name)).split('\n');
    return servers.find((server) => `${server.port}` === port) ?? servers[0];
  };
  return {
    name,
    sentinels: sentinels.map(({ port }) => `127.0.0.1:${port}`),
    servers,
    primary,
    async failOver() {
      const before = await primary();
      await ask((sentinels[0] as { port: number }).port, 'failover', name);
      await waitUntil(async () => (await primary()) !== before, { what: 'the failover' });
    },
    pauseSentinel(index, isPaused) {
      const program = sentinels[index]?.program;
      if (isPaused) program?.pause();
      else program?.resume();
    },
    killSentinel: async (index) => sentinels[index]?.program.kill(),
    async stop() {
      await Promise.all([...sentinels.map(({ program }) => program.terminate()), ...servers.map((one) => one.stop())]);
      folder.remove();
    },
  };
}

interface Sentinel {
  readonly index: number;
  readonly port: number;
  readonly first: RedisServer;
  readonly password: string | undefined;
  readonly tls: RedisTls | undefined;
}

function startSentinel(folder: TemporaryFolder, { index, port, first, password, tls }: Sentinel): Promise<Program> {
  const config = join(folder.path, `sentinel-${index}.conf`);
  const lines = [
    ...(tls ? ['port 0', `tls-port ${port}`] : [`port ${port}`]),
    ...Object.entries(tls ? tlsSettings(tls) : {}).map(([setting, value]) => `${setting} ${value}`),
    'bind 127.0.0.1',
    `sentinel monitor ${name} 127.0.0.1 ${first.port} ${quorum}`,
    `sentinel down-after-milliseconds ${name} 1000`,
    `sentinel failover-timeout ${name} 5000`,
    ...(password === undefined ? [] : [`requirepass ${password}`, `sentinel sentinel-pass ${password}`]),
  ];
  // A sentinel rewrites its file.
  writeFileSync(config, `${lines.join('\n')}\n`);
  return startProgram({
    name: 'Redis Sentinel',
    command: 'redis-server',
    args: [config, '--sentinel'],
    outputFile: join(folder.path, `output-${index}`),
    ready: (output) => output.includes('+monitor'),
  });
}
