import { idTime } from '@rms/base/ids';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { Key as Message } from '@rms/proto/rms/auth/v1/key_pb';
import { fromKeyGrantMessage } from '@rms/rpc/key-grants';
import { presentTimeOf, timeOf } from '../times.ts';
import type { FullKey, Key, NewKey } from './schema.ts';

/** Returns the API representation of a key, without its value and its clients. */
export function keyDocument(key: Message | undefined): Key {
  if (!key) throw new Error('auth returned no key');
  const { lastRefusal: refusal, uses } = key;
  const { scope, permissions } = fromKeyGrantMessage(key);
  return {
    id: key.id,
    type: 'api_key',
    name: key.name,
    scope,
    permissions: [...permissions],
    environment: fromEnvironmentMessage(key.environment),
    hint: key.hint,
    status: statusOf(key),
    allowed_ips: key.allowedIps,
    rate_limit: key.rateLimitRequests === undefined ? null : Number(key.rateLimitRequests),
    expires_at: timeOf(key.expireTime),
    created_at: presentTimeOf(key.createTime),
    created_by: key.createdBy || null,
    created_by_name: key.creatorName || null,
    last_used_at: timeOf(uses[0]?.lastUseTime),
    last_used_ip: uses[0]?.address ?? null,
    last_refusal: refusal ? { refused_at: presentTimeOf(refusal.refuseTime), error_code: refusal.errorCode } : null,
    revoked_at: timeOf(key.revokeTime),
    // The successor's ID contains its creation time.
    rolled_at: key.replacedById ? new Date(idTime(key.replacedById)).toISOString() : null,
    rolled_to: key.replacedById || null,
    overlap_ends_at: timeOf(key.rollTime),
  };
}

/** Returns the API representation of a key with its recent clients. */
export function fullKeyDocument(key: Message | undefined): FullKey {
  const clients = (key?.uses ?? []).map(({ address, userAgent, lastUseTime, requests }) => ({
    address,
    user_agent: userAgent,
    last_used_at: presentTimeOf(lastUseTime),
    requests: Number(requests),
  }));
  return { ...keyDocument(key), clients };
}

/** Returns the API representation of a new key. `value` is empty in a stored response to another caller. */
export function newKeyDocument(key: Message | undefined, value: string): NewKey {
  return { ...keyDocument(key), ...(value === '' ? {} : { key: value }) };
}

/** Returns the status; for its precedence see KeyStatus in keys_service.proto. */
function statusOf({ revokeTime, rollTime, expireTime }: Message): Key['status'] {
  if (revokeTime) return 'revoked';
  if (expireTime && Number(expireTime.seconds) * 1_000 + expireTime.nanos / 1e6 <= Date.now()) return 'expired';
  return rollTime ? 'rolled' : 'active';
}
