import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { fromKeyGrantMessage } from '@rms/rpc';
import type { OneObject } from '../single-object.ts';
import { timeOf } from '../times.ts';
import type { StatusName } from './schema.ts';

/** Returns the API representation of a key. Only a response that creates a key contains its value. */
export function keyJson(key: Key, value?: string): string {
  return JSON.stringify({ ...fieldsOf(key), ...(value === undefined ? {} : { key: value }) });
}

/** Returns a new key for a response with one object. `value` is empty in a stored response to another key. */
export function oneNewKeyOf(key: Key | undefined, value: string): OneObject {
  const found = present(key);
  const stableJson = keyJson(found);
  return { json: value === '' ? stableJson : keyJson(found, value), stableJson, version: found.version };
}

/** Returns a key with its recent clients for a response with one object. */
export function oneKeyOf(key: Key | undefined): OneObject {
  const found = present(key);
  const clients = found.uses.map(({ address, userAgent, lastUseTime, requests }) => ({
    address,
    user_agent: userAgent,
    last_used_at: timeOf(lastUseTime),
    requests: Number(requests),
  }));
  const json = JSON.stringify({ ...fieldsOf(found), last_used_ip: found.uses[0]?.address ?? null, clients });
  return { json, version: found.version };
}

function fieldsOf(key: Key) {
  return {
    id: key.id,
    type: 'api_key',
    name: key.name,
    ...fromKeyGrantMessage(key),
    environment: key.environment === Environment.LIVE ? 'live' : 'sandbox',
    hint: key.hint,
    status: statusOf(key),
    allowed_ips: key.allowedIps,
    rate_limit: key.rateLimitRequests === undefined ? null : Number(key.rateLimitRequests),
    expires_at: timeOf(key.expireTime),
    created_at: timeOf(key.createTime),
    last_used_at: timeOf(key.uses[0]?.lastUseTime),
    rolled_to: key.replacedById || null,
  };
}

/** Returns the status; for its precedence see KeyStatus in keys_service.proto. */
function statusOf({ revokeTime, rollTime, expireTime }: Key): StatusName {
  if (revokeTime) return 'revoked';
  if (rollTime) return 'rolled';
  return expireTime && Number(expireTime.seconds) * 1_000 + expireTime.nanos / 1e6 <= Date.now() ? 'expired' : 'active';
}

function present(key: Key | undefined): Key {
  if (!key) throw new Error('auth returned no key');
  return key;
}
