import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disposable, type PostgresServer, startPostgresAt, waitUntil } from '@rms/testkit';
import pg from 'pg';

/** A PostgreSQL server that archives its write-ahead log, as in production. */
export interface ArchivedPostgres {
  readonly server: PostgresServer;
  /** Copies the data files while the server runs. Every restore starts from this copy. */
  takeBaseBackup(): Promise<void>;
  /** Waits until everything committed so far is in the archive. */
  archiveAll(): Promise<void>;
  /** Starts a new server on a backup copy, recovered to the archive's end or to `toTime`. */
  restore(toTime?: Date): Promise<PostgresServer>;
  /** Stops all servers and removes all files. */
  remove(): Promise<void>;
}

/** Settings that the copies need as well. */
const walSettings = { wal_level: 'replica', hot_standby: 'off' };

export async function startArchivedPostgres(): Promise<ArchivedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'rms-backup-'));
  execFileSync('chmod', ['711', folder]);
  const [archive, backup] = [join(folder, 'archive'), join(folder, 'backup.tar')];
  const server = await startPostgresAt(makeFolder('primary'), {
    ...walSettings,
    archive_mode: 'on',
    archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  });
  const data = join(folder, 'primary', 'postgres');
  const { uid, gid } = statSync(data);
  mkdirSync(archive);
  chownSync(archive, uid, gid);
  const restored: PostgresServer[] = [];
  let backupLabel = '';

  function makeFolder(name: string): string {
    const path = join(folder, name);
    mkdirSync(path, { mode: 0o711 });
    return path;
  }

  async function withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    await using client = disposable(new pg.Client({ connectionString: server.url }));
    await client.connect();
    return await work(client);
  }

  return {
    server,
    takeBaseBackup: () =>
      // pg_backup_start and pg_backup_stop must run in the same session.
      withClient(async (client) => {
        await client.query("select pg_backup_start('test', true)");
        const excluded = ['--exclude=./postmaster.pid', '--exclude=./pg_wal/*'];
        const { status, stderr } = spawnSync('tar', ['-C', data, ...excluded, '-cf', backup, '.']);
        // Status 1: a file changed while it was read. The write-ahead log repairs it.
        if (status !== 0 && status !== 1) throw new Error(`tar: ${String(stderr)}`);
        const { rows } = await client.query('select labelfile from pg_backup_stop()');
        backupLabel = rows[0].labelfile;
      }),
    archiveAll: () =>
      withClient(async (client) => {
        const { rows } = await client.query('select pg_walfile_name(pg_switch_wal()) as last');
        await waitUntil(
          async () => {
            const archived = await client.query('select last_archived_wal as wal from pg_stat_archiver');
            return archived.rows[0].wal >= rows[0].last;
          },
          { what: `the archive to contain ${rows[0].last}` },
        );
      }),
    async restore(toTime) {
      const dataDir = makeFolder(`restored-${restored.length + 1}`);
      const copy = join(dataDir, 'postgres');
      mkdirSync(copy, { mode: 0o700 });
      execFileSync('tar', ['-C', copy, '-xpf', backup]);
      writeFileSync(join(copy, 'backup_label'), backupLabel);
      writeFileSync(join(copy, 'recovery.signal'), '');
      for (const name of ['.', 'backup_label', 'recovery.signal']) chownSync(join(copy, name), uid, gid);
      // This setting does not accept "Z" as a time zone.
      const target = toTime && {
        recovery_target_time: toTime.toISOString().replace('Z', '+00'),
        recovery_target_action: 'promote',
      };
      const settings = { ...walSettings, restore_command: `cp ${archive}/%f %p`, ...target };
      const copied = await startPostgresAt(dataDir, settings);
      restored.push(copied);
      return copied;
    },
    async remove() {
      await Promise.all([server, ...restored].map((one) => one.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
