import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createClient, type RpcSecurity } from '@rms/rpc';

/** What is made at the first start, to be shown once; undefined: it was there already. */
export interface Firsts {
  /** Admin keys of the first workspace. */
  readonly keys: { readonly live: string; readonly sandbox: string } | undefined;
  /** By which its owner signs in to the dashboard. */
  readonly login: { readonly email: string; readonly password: string } | undefined;
}

/** Makes the first workspace with its admin keys, and the first user, who owns it: each if there is none yet. */
export async function bootstrap(authAddress: string, security: RpcSecurity, ownerEmail: string): Promise<Firsts> {
  const options = { target: authAddress, timeoutMs: 10_000, security };
  const workspaces = createClient(WorkspacesService, options);
  const users = createClient(UsersService, options);
  try {
    const { created, keys, keyValues } = await workspaces.bootstrapWorkspace({ name: 'default' });
    const keyOf = (environment: Environment) =>
      keyValues[keys.findIndex((key) => key.environment === environment)] ?? '';
    const { user, password } = await users.bootstrapUser({ email: ownerEmail });
    return {
      keys: created ? { live: keyOf(Environment.LIVE), sandbox: keyOf(Environment.SANDBOX) } : undefined,
      login: user && { email: user.email, password },
    };
  } finally {
    workspaces.close();
    users.close();
  }
}
