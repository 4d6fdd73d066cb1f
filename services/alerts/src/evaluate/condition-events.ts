import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { type NewOperationalEvent, queueEvents } from '@rms/postgres/operational-events';
import { dayMs } from '../incident/incident.ts';
import type { Rule } from '../rule/rule.ts';
import { type Facts, type Found, observe } from './observe.ts';

const origin = { actor: '', requestId: '' };

/**
 * Queues the operational events of conditions that begin: about the quota and about expiring keys. The thresholds are
 * those of the alert rules, even if these are disabled. A condition that begins again within a day after its end is not
 * reported again, except a quota in the next month.
 */
export async function queueConditionEvents(
  tx: Queryable,
  { tenant, rules, facts, nowMs }: { tenant: Tenant; rules: readonly Rule[]; facts: Facts; nowMs: number },
): Promise<void> {
  const reporting = rules.filter(({ kind }) => kind === 'quota' || kind === 'key_expiry');
  const holding = observe(
    reporting.map((rule) => ({ ...rule, enabled: true })),
    facts,
    nowMs,
  )
    .filter(({ bad }) => bad)
    .map((one) => ({ ...one, event: one.keepsOnly ? undefined : eventOf(one, { tenant, facts, nowMs }) }));
  const { rows } = await tx.query<{ kind: string; subjectId: string; isNew: boolean }>({
    name: 'report-conditions',
    text: reportConditions,
    values: [
      tenant.workspaceId,
      tenant.environment,
      holding.map(({ kind }) => kind),
      holding.map(({ subjectId }) => subjectId),
      holding.map(({ event }) => event !== undefined),
      new Date(nowMs),
      new Date(nowMs - dayMs),
      startOfMonth(nowMs),
    ],
  });
  const isNew = ({ kind, subjectId }: Found) =>
    rows.some((row) => row.isNew && row.kind === kind && row.subjectId === subjectId);
  const events = holding.flatMap((one) => (one.event && isNew(one) ? [one.event] : []));
  await queueEvents(tx, 'alerts', events);
}

/**
 * Stores which conditions hold at $6. Returns those that have begun, and whether they are to be reported: they have not
 * held since $7, or were last reported before $8 and are about the quota of a month.
 */
const reportConditions = `
  with holding as (
    select * from unnest($3::text[], $4::text[], $5::boolean[]) as t (kind, subject_id, can_begin)
  ), ended as (
    update alerts.reported_conditions set ended_at = $6
     where workspace_id = $1 and environment = $2 and ended_at is null
       and (kind, subject_id) not in (select kind, subject_id from holding)
  ), forgotten as (
    delete from alerts.reported_conditions
     where workspace_id = $1 and environment = $2 and ended_at <= $7
       and (kind, subject_id) not in (select kind, subject_id from holding)
  )
  insert into alerts.reported_conditions as known (workspace_id, environment, kind, subject_id, reported_at)
  select $1, $2, kind, subject_id, $6 from holding where can_begin
      on conflict (workspace_id, environment, kind, subject_id) do update
     set ended_at = null,
         reported_at = case when known.ended_at > $7 and (known.kind <> 'quota' or known.reported_at >= $8)
                            then known.reported_at else excluded.reported_at end
   where known.ended_at is not null or (known.kind = 'quota' and known.reported_at < $8)
  returning kind, subject_id as "subjectId", reported_at = $6 as "isNew"`;

/** Returns the event of a condition; undefined if the previous release stored the key. */
function eventOf(
  { kind, subjectId }: Found,
  { tenant, facts, nowMs }: { tenant: Tenant; facts: Facts; nowMs: number },
): NewOperationalEvent | undefined {
  const { workspaceId, environment } = tenant;
  if (kind === 'quota') {
    const type = subjectId === 'exceeded' ? 'quota.exceeded' : 'quota.warning';
    const object = workspaceOf(tenant, facts, nowMs);
    return { type, workspaceId, environment, subjectId: workspaceId, object, origin };
  }
  const object = facts.expiringKeys.find(({ keyId }) => keyId === subjectId)?.document;
  return object ? { type: 'api_key.expiring', workspaceId, environment, subjectId, object, origin } : undefined;
}

/** Returns quota and usage in the form of GET /v1/workspace. */
function workspaceOf({ workspaceId, environment }: Tenant, { month }: Pick<Facts, 'month'>, nowMs: number) {
  return {
    id: workspaceId,
    type: 'workspace',
    environment,
    limits: { requests_per_month: month.quota },
    usage: {
      requests: month.used,
      month_start: startOfMonth(nowMs).toISOString(),
      month_end: startOfMonth(nowMs, 1).toISOString(),
    },
  };
}

/** Returns the start of the month at `nowMs`, or of the month `later` months after it, in UTC. */
function startOfMonth(nowMs: number, later = 0): Date {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later));
}
