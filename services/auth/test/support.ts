import { createPool } from '@rms/db';
import { createMemoryLimiter } from '@rms/limiter';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/service';
import { testDatabase } from '@rms/testkit';
import { createAuth } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';

const log = createLogger({ name: 'test', level: 'silent' });

/** The real service on a real database, and what it has marked as revoked. */
export async function startAuth() {
  const database = await testDatabase([migrations]);
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
  return {
    database,
    keys,
    workspaces,
    marked,
    setAway(isAway: boolean) {
      away = isAway;
    },
    async newWorkspace() {
      const { workspace } = await workspaces.createWorkspace({ name: 'Test' });
      return workspace?.id ?? '';
    },
    async stop() {
      keys.close();
      workspaces.close();
      await service.stop();
      await database.drop();
    },
  };
}
