import { RmsError } from '@rms/errors';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import type { TenantCall } from './endpoint.ts';

/** The key of the path, if it is of this workspace and environment; auth knows keys by workspace alone. */
export async function findKey(call: TenantCall<unknown, unknown>): Promise<Key> {
  const { backend, tenant, context } = call;
  const { keys } = await backend.keys.listKeys(tenant, { context });
  const key = keys.find(({ id }) => id === call.param('id'));
  if (!key) throw new RmsError('not_found');
  return key;
}

/** What auth must put into its answer. */
export function present(key: Key | undefined): Key {
  if (!key) throw new Error('auth answered without a key');
  return key;
}
