import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import type { AuthConfig } from './config.ts';
import type { AuthContext } from './context.ts';
import { batchVerifyKeys } from './rpc/batch-verify-keys.ts';
import { bootstrapWorkspace } from './rpc/bootstrap-workspace.ts';
import { createKey } from './rpc/create-key.ts';
import { createWorkspace } from './rpc/create-workspace.ts';
import { listKeys } from './rpc/list-keys.ts';
import { listWorkspaces } from './rpc/list-workspaces.ts';
import { revokeKey } from './rpc/revoke-key.ts';
import { rollKey } from './rpc/roll-key.ts';

/** Workspaces and API keys. */
export function createAuth(config: AuthConfig, context: AuthContext): GrpcService {
  const { pool, limiter, log } = context;
  return createGrpcService({
    name: 'auth',
    ...config,
    log,
    services: [
      rpcService(KeysService, {
        createKey: createKey(context),
        listKeys: listKeys(context),
        revokeKey: revokeKey(context),
        rollKey: rollKey(context),
        batchVerifyKeys: batchVerifyKeys(context),
      }),
      rpcService(WorkspacesService, {
        createWorkspace: createWorkspace(context),
        listWorkspaces: listWorkspaces(context),
        bootstrapWorkspace: bootstrapWorkspace(context),
      }),
    ],
    workers: [],
    ready: async () => {
      await pool.query('select 1');
    },
    async open() {
      await limiter.start();
    },
    async close() {
      await limiter.stop();
      await pool.end();
    },
  });
}
