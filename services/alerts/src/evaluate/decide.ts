import { type Incident, step } from '../incident/incident.ts';
import type { IncidentNotice, StoredIncident } from '../incident/incident-queries.ts';
import type { AlertKind, Rule } from '../rule/rule.ts';
import { type Facts, type Found, observe } from './observe.ts';

/** Result of an evaluation of a tenant's rules. */
export interface Decision {
  /** New and changed incidents. */
  readonly incidents: readonly StoredIncident[];
  readonly notices: readonly IncidentNotice[];
  /** Whether any incident is open. */
  readonly open: boolean;
}

/**
 * Time that a subject must be healthy before its incident closes. Rates fluctuate, so their incidents need a delay; the
 * other conditions do not.
 */
const calmMs: Readonly<Record<AlertKind, number>> = {
  api_error_rate: 5 * 60_000,
  delivery_failure_rate: 5 * 60_000,
  rate_limited: 5 * 60_000,
  delivery_failures_in_a_row: 0,
  webhook_disabled: 0,
  quota: 0,
  key_expiry: 0,
};

/**
 * Advances the incident of each subject of a tenant.
 *
 * @param current the open incident of each subject, or the most recently closed one
 * @param newId generates a new incident's ID
 */
export function decide(
  rules: readonly Rule[],
  facts: Facts,
  current: readonly StoredIncident[],
  { nowMs, newId }: { nowMs: number; newId: () => string },
): Decision {
  const found = observe(rules, facts, nowMs);
  const nameOf = ({ kind, subjectId }: { kind: AlertKind; subjectId: string }) => `${kind} ${subjectId}`;
  const known = new Map(current.map((incident) => [nameOf(incident), incident]));
  const seen = new Set(found.map(nameOf));
  const unseen = current.filter((incident) => incident.state === 'open' && !seen.has(nameOf(incident)));
  const subjects = [
    ...found.map((one) => ({ kind: one.kind, subjectId: one.subjectId, observation: one as Found | undefined })),
    ...unseen.map((incident) => ({
      kind: incident.kind,
      subjectId: incident.subjectId,
      observation: ofUnseen(incident, rules, facts),
    })),
  ];
  const isExceeded = known.get('quota exceeded')?.state === 'open';
  const incidents: StoredIncident[] = [];
  const notices: Omit<IncidentNotice, 'coveredBy'>[] = [];
  const after = new Map<string, StoredIncident>();
  let open = false;
  for (const { kind, subjectId, observation: seenNow } of subjects) {
    // A recovery from "exceeded" needs only one notice, so the warning's recovery waits until "exceeded" has
    // recovered.
    const isTwice = kind === 'quota' && subjectId === 'warning' && isExceeded && seenNow?.bad === false;
    const observation = isTwice ? undefined : seenNow;
    const before = known.get(nameOf({ kind, subjectId }));
    const [openOne, closedOne] = before?.state === 'open' ? [before, undefined] : [undefined, before];
    const { incident: next, notice } = step(openOne, closedOne, observation, { nowMs, calmMs: calmMs[kind] });
    if (!next) continue;
    if (next.state === 'open') open = true;
    const [rule] = rules;
    if (!rule) continue;
    const { workspaceId, environment } = rule;
    const object = seenNow?.object || openOne?.object || '';
    const incident = {
      ...next,
      ...{ workspaceId, environment, kind, subjectId, object },
      id: openOne?.id ?? newId(),
      acknowledgedBy: openOne?.acknowledgedBy ?? '',
      reportId: openOne?.reportId ?? '',
    };
    after.set(nameOf(incident), incident);
    if (notice) notices.push({ incident, notice });
    if (!openOne || hasChanged(openOne, next)) incidents.push(incident);
  }
  const otherOf = ({ kind, subjectId }: StoredIncident) => {
    const counterpart = counterparts[kind];
    return counterpart && after.get(nameOf({ kind: counterpart, subjectId }));
  };
  return {
    incidents,
    notices: notices.map((one) => ({ ...one, coveredBy: coverOf(one, otherOf(one.incident), nowMs) })),
    open,
  };
}

/** Rules that report the same problem: deliveries to a webhook fail. */
const counterparts: Readonly<Partial<Record<AlertKind, AlertKind>>> = {
  delivery_failure_rate: 'delivery_failures_in_a_row',
  delivery_failures_in_a_row: 'delivery_failure_rate',
};

/**
 * If another incident about the same problem makes a notice redundant, returns the kind of that incident. The incident
 * that opened first reports the problem. The incident that closes last reports the recovery.
 */
function coverOf(
  { incident, notice }: Omit<IncidentNotice, 'coveredBy'>,
  other: StoredIncident | undefined,
  nowMs: number,
): AlertKind | undefined {
  if (!other) return undefined;
  const isFirst =
    other.openedAtMs === incident.openedAtMs ? other.kind < incident.kind : other.openedAtMs < incident.openedAtMs;
  const closesNow = other.state === 'recovered' && other.closedAtMs === nowMs;
  const isCovered =
    notice === 'recovered' ? other.state === 'open' || (closesNow && isFirst) : other.state === 'open' && isFirst;
  return isCovered ? other.kind : undefined;
}

/**
 * Returns the observation for an open incident without an observation of its subject. undefined ends the incident
 * without a notice.
 */
function ofUnseen(
  { kind, subjectId, object, threshold, summary }: StoredIncident,
  rules: readonly Rule[],
  facts: Facts,
) {
  if (!rules.some((rule) => rule.kind === kind && rule.enabled)) return undefined;
  const well: Found = { kind, subjectId, object, bad: false, value: 0, threshold, summary };
  // The webhook is enabled again. If it was deleted, the incident has already ended.
  if (kind === 'webhook_disabled') return well;
  // Either a new month without requests has begun, or the quota was removed.
  if (kind === 'quota') return well;
  // The key was rolled, revoked or extended. A key that is still in the list has expired.
  if (kind === 'key_expiry' && !facts.expiringKeys.some(({ keyId }) => keyId === subjectId)) return well;
  return undefined;
}

function hasChanged(before: Incident, after: Incident): boolean {
  return (['state', 'lastNoticeAtMs', 'notices', 'calmSinceMs', 'closedAtMs', 'worstValue', 'summary'] as const).some(
    (name) => before[name] !== after[name],
  );
}
