import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '@rms/testkit';

/** Starts the baseline on this database. */
export async function startBaseline(databaseUrl) {
  const port = await freePort();
  const child = fork(join(import.meta.dirname, 'server.mjs'), {
    env: { ...process.env, NODE_ENV: 'production', DATABASE_URL: databaseUrl, PORT: String(port) },
  });
  await once(child, 'message');
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
