import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createClient, type RpcSecurity } from '@rms/rpc';

/** Makes the first workspace and its admin keys if there is none yet; else answers undefined. */
export async function bootstrap(
  authAddress: string,
  security: RpcSecurity,
): Promise<{ live: string; sandbox: string } | undefined> {
  const workspaces = createClient(WorkspacesService, { target: authAddress, timeoutMs: 10_000, security });
  try {
    const { created, keys, keyValues } = await workspaces.bootstrapWorkspace({ name: 'default' });
    if (!created) return undefined;
    const keyOf = (environment: Environment) =>
      keyValues[keys.findIndex((key) => key.environment === environment)] ?? '';
    return { live: keyOf(Environment.LIVE), sandbox: keyOf(Environment.SANDBOX) };
  } finally {
    workspaces.close();
  }
}
