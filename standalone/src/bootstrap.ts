import { retry } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createClient, type RpcSecurity } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';

/** Objects created on the first start, with credentials that are shown once. Undefined if they existed already. */
export interface Firsts {
  /** Admin keys of the first workspace. */
  readonly keys: { readonly live: string; readonly sandbox: string } | undefined;
  /** Login of the initial owner. The password is undefined if the user existed already. */
  readonly login: { readonly email: string; readonly password: string | undefined } | undefined;
}

/** Time to wait while auth is unavailable, for example because PostgreSQL has no free connection. */
const patienceMs = 20_000;
const retryMs = 500;

/**
 * Creates the first workspace with its admin keys, unless one exists. Makes the user with `ownerEmail` its owner, unless
 * a workspace has a member.
 */
export async function bootstrap(
  authAddress: string,
  { security, ownerEmail, log }: { security: RpcSecurity; ownerEmail: string; log: Logger },
): Promise<Firsts> {
  const options = { target: authAddress, timeoutMs: 10_000, security };
  const workspaces = createClient(WorkspacesService, options);
  const users = createClient(UsersService, options);
  try {
    const { created, keys, keyValues } = await whenAvailable(
      () => workspaces.bootstrapWorkspace({ name: 'default' }),
      log,
    );
    const keyOf = (environment: Environment) =>
      keyValues[keys.findIndex((key) => key.environment === environment)] ?? '';
    const {
      created: isNew,
      user,
      password,
    } = await whenAvailable(() => users.bootstrapUser({ email: ownerEmail }), log);
    return {
      keys: created ? { live: keyOf(Environment.LIVE), sandbox: keyOf(Environment.SANDBOX) } : undefined,
      login: user && { email: user.email, password: isNew ? password : undefined },
    };
  } finally {
    workspaces.close();
    users.close();
  }
}

function whenAvailable<T>(call: () => Promise<T>, log: Logger): Promise<T> {
  return retry(call, {
    isTemporary: (error) => error instanceof RmsError && error.code === 'service_unavailable',
    onWait: (err) => log.warn({ err }, 'auth is unavailable; waiting'),
    forMs: patienceMs,
    everyMs: retryMs,
  });
}
