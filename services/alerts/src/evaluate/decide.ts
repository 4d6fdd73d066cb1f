import { type Incident, type Notice, step } from '../incident/incident.ts';
import type { StoredIncident } from '../incident/incident-queries.ts';
import type { AlertKind, Rule } from '../rule/rule.ts';
import { type Facts, type Found, observe } from './observe.ts';

/** What follows from a look at a tenant's rules. */
export interface Decision {
  /** Incidents that are new or have changed. */
  readonly incidents: readonly StoredIncident[];
  readonly notices: readonly { readonly incident: StoredIncident; readonly notice: Notice }[];
  /** An incident is open. */
  readonly open: boolean;
}

/** How long all has to be well: shares go up and down by themselves, other things are as they are. */
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
 * Takes each subject of a tenant a step further.
 *
 * @param current the incident of each subject that is open, or else the last one that has closed
 * @param newId makes the id of an incident
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
  const notices: { incident: StoredIncident; notice: Notice }[] = [];
  let open = false;
  for (const { kind, subjectId, observation: seenNow } of subjects) {
    // Who was told that the quota was used up is told once that it is not.
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
    const incident = { ...next, workspaceId, environment, kind, subjectId, id: openOne?.id ?? newId() };
    if (notice) notices.push({ incident, notice });
    if (!openOne || hasChanged(openOne, next)) incidents.push(incident);
  }
  return { incidents, notices, open };
}

/** What to make of an open incident whose rule finds its subject no more; undefined: it does not matter any more. */
function ofUnseen({ kind, subjectId, threshold, summary }: StoredIncident, rules: readonly Rule[], facts: Facts) {
  if (!rules.some((rule) => rule.kind === kind && rule.enabled)) return undefined;
  const well: Found = { kind, subjectId, bad: false, value: 0, threshold, summary };
  // Its webhook is enabled again; of one that was deleted the incident has ended by then.
  if (kind === 'webhook_disabled') return well;
  // Nothing was counted in the new month yet, or there is no quota any more.
  if (kind === 'quota') return well;
  // It was rolled, revoked or given more time; one that is still there has expired.
  if (kind === 'key_expiry' && !facts.expiringKeys.some(({ keyId }) => keyId === subjectId)) return well;
  return undefined;
}

function hasChanged(before: Incident, after: Incident): boolean {
  return (['state', 'lastNoticeAtMs', 'notices', 'calmSinceMs', 'closedAtMs', 'worstValue', 'summary'] as const).some(
    (name) => before[name] !== after[name],
  );
}
