import { hashOfApiKey } from '@rms/api-key';
import { createPool } from '@rms/db';
import { createMemoryLimiter } from '@rms/limiter';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/service';
import { testDatabase } from '@rms/testkit';
import { createAuth } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';

export type TestAuth = Awaited<ReturnType<typeof startAuth>>;

/** The real service on a real database, what it has marked as revoked, and what it has logged. */
export async function startAuth(databaseServer?: string) {
  const logged: string[] = [];
  const log = createLogger({ name: 'test', level: 'info', destination: { write: (line) => void logged.push(line) } });
  const database = await testDatabase([migrations], databaseServer);
  const pool = createPool({ url: database.url, max: 8, applicationName: 'auth', log });
  const memory = createMemoryLimiter({ rateLimitRequests: 0, rateLimitWindowSeconds: 60, monthlyQuota: 0 });
  const marked: string[] = [];
  let away = false;
  const limiter = {
    start: () => memory.start(),
    stop: () => memory.stop(),
    async markRevoked(keys: readonly { workspaceId: string; keyId: string }[]) {
      if (away) throw new Error('redis does not answer');
      marked.push(...keys.map(({ keyId }) => keyId));
      await memory.markRevoked(keys);
    },
  };
  const service = createAuth({ host: '127.0.0.1', port: 0 }, { pool, limiter, log });
  await service.start();
  const target = { target: service.address, timeoutMs: 10_000 };
  const keys = createClient(KeysService, target);
  const workspaces = createClient(WorkspacesService, target);
  const newWorkspace = async () => {
    const { workspace } = await workspaces.createWorkspace({ name: 'Test' });
    return workspace?.id ?? '';
  };
  return {
    address: service.address,
    database,
    keys,
    workspaces,
    marked,
    logged,
    setAway(isAway: boolean) {
      away = isAway;
    },
    newWorkspace,
    /** A live write key, if nothing else is asked for, in a workspace of its own. */
    async newKey(more: object = {}) {
      const asked = { workspaceId: await newWorkspace(), environment: Environment.LIVE, scope: Scope.WRITE, name: 'k' };
      const { key, keyValue } = await keys.createKey({ ...asked, ...more });
      if (!key) throw new Error('no key in the answer');
      return { workspaceId: key.workspaceId, id: key.id, value: keyValue, key };
    },
    async verify(value: string, environment = Environment.LIVE) {
      const { results } = await keys.batchVerifyKeys({ requests: [{ keyHash: hashOfApiKey(value), environment }] });
      return results[0];
    },
    async stop() {
      keys.close();
      workspaces.close();
      await service.stop();
      await database.drop();
    },
  };
}
