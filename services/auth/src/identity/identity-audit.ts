import { type AuditedAction, type AuditedFields, changesBetween } from '@rms/postgres/audit';
import type { Identity } from './identity.ts';

const fields: AuditedFields<Identity> = { issuer: 'shown', subject: 'shown' };

export function identityLinked(identity: Identity): AuditedAction {
  return { action: 'user.identity_linked', changes: changesBetween(fields, undefined, identity) };
}

export function identityUnlinked(identity: Identity): AuditedAction {
  return { action: 'user.identity_unlinked', changes: changesBetween(fields, identity, undefined) };
}
