import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import type { TenantCall } from './endpoint.ts';

/**
 * Returns the path's key if it belongs to this workspace and environment. The other RPCs address keys by workspace
 * only.
 */
export async function findKey(call: TenantCall<unknown, unknown>): Promise<Key> {
  const { backend, tenant, context } = call;
  const { key } = await backend.keys.getKey({ ...tenant, id: call.param('id') }, { context });
  return present(key);
}

/** Returns a response's key; throws if it is missing. */
export function present(key: Key | undefined): Key {
  if (!key) throw new Error('auth returned no key');
  return key;
}
