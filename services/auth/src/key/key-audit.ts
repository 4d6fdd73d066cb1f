import type { AuditChange } from '@rms/audit';
import type { StoredKey } from './key.ts';

/** Returns the audit entry of a new key. */
export function keyCreated(key: StoredKey): AuditChange {
  return changeOf(key, 'key.created', { scope: key.scope, expires_at: key.expiresAt ?? null, ...settingsOf(key) });
}

export function keyUpdated(key: StoredKey): AuditChange {
  return changeOf(key, 'key.updated', settingsOf(key));
}

export function keyRevoked(key: StoredKey): AuditChange {
  return changeOf(key, 'key.revoked', { name: key.name });
}

/** Returns the audit entry of a roll. `old` is the old key after the roll. */
export function keyRolled(old: StoredKey): AuditChange {
  return changeOf(old, 'key.rolled', { name: old.name, replaced_by: old.replacedById, ends_at: old.rolledAt });
}

function settingsOf({ name, allowedIps, rateLimitRequests }: StoredKey) {
  return { name, allowed_ips: allowedIps, rate_limit_requests: rateLimitRequests ?? null };
}

function changeOf(key: StoredKey, action: string, details: Record<string, unknown>): AuditChange {
  return { workspaceId: key.workspaceId, environment: key.environment, action, targetId: key.id, details };
}
