import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type PostgresServer, startPostgresAt } from './postgres.ts';
import { startTcpSwitch, type TcpSwitch } from './tcp-switch.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Two copies of a PostgreSQL behind one address, as after a failover that left the old primary running. */
export interface FailoverPair {
  /** URL of the address. New connections reach the old primary until {@link failOver}. */
  readonly url: string;
  readonly old: PostgresServer;
  /** Promoted, so its timeline is one higher. */
  readonly promoted: PostgresServer;
  /** Sends new connections to the promoted server. Connections to the old primary stay. */
  failOver(): void;
  /** Sends new connections to the old primary again. */
  failBack(): void;
  /** Makes the old primary read-only (or writable again) for transactions that begin afterwards, in all sessions. */
  setReadOnly(readOnly: boolean): Promise<void>;
  stop(): Promise<void>;
}

const walSettings = { wal_level: 'replica' };

/** Starts a pair. `prepare` fills the server before it is copied. */
export async function startFailoverPair(prepare: (url: string) => Promise<unknown>): Promise<FailoverPair> {
  const folders = [temporaryFolder('old-primary'), temporaryFolder('new-primary')] as const;
  const servers: PostgresServer[] = [];
  let line: TcpSwitch | undefined;
  const stop = async () => {
    await line?.close();
    await Promise.all(servers.map((server) => server.stop()));
    for (const folder of folders) folder.remove();
  };
  try {
    const original = await startPostgresAt(folders[0].path, walSettings);
    servers.push(original);
    await prepare(original.url);
    await original.stop();
    servers.pop();
    execFileSync('cp', ['-a', join(folders[0].path, 'postgres'), folders[1].path]);
    writeFileSync(join(folders[1].path, 'postgres', 'standby.signal'), '');
    for (const { path } of folders) servers.push(await startPostgresAt(path, walSettings));
    const [old, promoted] = servers as [PostgresServer, PostgresServer];
    await run(promoted.url, 'select pg_promote()');
    const opened = await startTcpSwitch(portOf(old));
    line = opened;
    const url = new URL(old.url);
    url.port = `${opened.port}`;
    return {
      url: url.href,
      old,
      promoted,
      failOver: () => opened.sendTo(portOf(promoted)),
      failBack: () => opened.sendTo(portOf(old)),
      async setReadOnly(readOnly) {
        await run(old.url, `alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
        await run(old.url, 'select pg_reload_conf()');
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const portOf = ({ url }: PostgresServer) => Number(new URL(url).port);

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
