import { type AuditedAction, type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { StoredKey } from './key.ts';

const fields: AuditedFields<StoredKey> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  hash: 'omitted',
  hint: 'omitted',
  name: 'shown',
  scope: 'shown',
  permissions: 'shown',
  allowedIps: 'shown',
  createdAt: 'omitted',
  expiresAt: 'shown',
  revokedAt: 'shown',
  rolledAt: 'shown',
  replacedById: 'shown',
  createdBy: 'omitted',
  version: 'omitted',
  rateLimitRequests: 'shown',
};

export function keyCreated(key: StoredKey): NewAuditEntry {
  return entryOf(key, { action: 'key.created', changes: changesBetween(fields, undefined, key) });
}

/** Returns the audit entry of an update. `before` is the locked key. */
export function keyUpdated(before: StoredKey, after: StoredKey): NewAuditEntry {
  return entryOf(after, { action: 'key.updated', changes: changesBetween(fields, before, after) });
}

export function keyRevoked(before: StoredKey, after: StoredKey): NewAuditEntry {
  return entryOf(after, { action: 'key.revoked', changes: changesBetween(fields, before, after) });
}

/** Returns the audit entry of a roll. `before` and `after` are the old key before and after the roll. */
export function keyRolled(before: StoredKey, after: StoredKey): NewAuditEntry {
  return entryOf(after, { action: 'key.rolled', changes: changesBetween(fields, before, after) });
}

function entryOf({ workspaceId, environment, id, name }: StoredKey, action: AuditedAction): NewAuditEntry {
  return { workspaceId, environment, target: { id, name }, ...action };
}
