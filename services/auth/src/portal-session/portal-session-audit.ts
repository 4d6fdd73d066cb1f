import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { PortalSession } from './portal-session.ts';

const fields: AuditedFields<PortalSession> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  keyId: 'omitted',
  tokenHash: 'omitted',
  endsAt: 'shown',
  returnUrl: 'shown',
  theme: 'omitted',
};

export function portalSessionCreated(session: PortalSession): NewAuditEntry {
  return {
    ...targetOf(session),
    action: 'portal_session.created',
    changes: changesBetween(fields, undefined, session),
  };
}

export function portalSessionOpened(session: PortalSession): NewAuditEntry {
  return { ...targetOf(session), action: 'portal_session.opened' };
}

function targetOf({ workspaceId, environment, id }: PortalSession) {
  return { workspaceId, environment, target: { id, name: '' } };
}
