import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createClient, type RpcSecurity } from '@rms/rpc';

/** Credentials created on the first start and shown once. Undefined if they existed already. */
export interface Firsts {
  /** Admin keys of the first workspace. */
  readonly keys: { readonly live: string; readonly sandbox: string } | undefined;
  /** Login of the initial owner. */
  readonly login: { readonly email: string; readonly password: string } | undefined;
}

/**
 * Creates the first workspace with its admin keys, and the first user as its owner. Skips the workspace or the user if
 * one exists already.
 */
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
