import { alertRules } from '@rms/base/alert-rules';
import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { StoredIncident } from './incident-queries.ts';

interface Handled {
  readonly acknowledgedBy: StoredIncident['acknowledgedBy'];
  readonly mutedUntil: Date | undefined;
}

const fields: AuditedFields<Handled> = { acknowledgedBy: 'shown', mutedUntil: 'shown' };

function handledOf({ acknowledgedBy, mutedUntilMs }: StoredIncident): Handled {
  return { acknowledgedBy, mutedUntil: mutedUntilMs === undefined ? undefined : new Date(mutedUntilMs) };
}

/** Returns the audit entry of a change of an incident. */
export function incidentEntry(
  action: 'incident.acknowledged' | 'incident.muted',
  before: StoredIncident,
  after: StoredIncident,
): NewAuditEntry {
  const { workspaceId, environment, id, kind, subjectId } = after;
  const changes = changesBetween(fields, handledOf(before), handledOf(after));
  const target = { id, name: alertRules[kind].name };
  return { workspaceId, environment, target, action, changes, details: { subject_id: subjectId } };
}
