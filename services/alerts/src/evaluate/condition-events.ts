import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { type NewOperationalEvent, queueEvents } from '@rms/postgres/operational-events';
import type { Rule } from '../rule/rule.ts';
import { type Facts, type Found, observe } from './observe.ts';

const origin = { actor: '', requestId: '' };

/** A condition that has been reported, and still holds. */
interface Reported {
  readonly kind: string;
  readonly subjectId: string;
}

/**
 * Queues the operational events of conditions that begin: about the quota and about expiring keys. The thresholds are
 * those of the alert rules, even if these are disabled. A condition is reported again after it has ended.
 */
export async function queueConditionEvents(
  tx: Queryable,
  { tenant, rules, facts, nowMs }: { tenant: Tenant; rules: readonly Rule[]; facts: Facts; nowMs: number },
): Promise<void> {
  const { workspaceId, environment } = tenant;
  const reporting = rules.filter(({ kind }) => kind === 'quota' || kind === 'key_expiry');
  const holding = observe(
    reporting.map((rule) => ({ ...rule, enabled: true })),
    facts,
    nowMs,
  ).filter(({ bad }) => bad);
  const { rows: before } = await tx.query<Reported>(
    `select kind, subject_id as "subjectId" from alerts.reported_conditions where workspace_id = $1 and environment = $2`,
    [workspaceId, environment],
  );
  const isSame = (one: Reported) => (other: Reported) => one.kind === other.kind && one.subjectId === other.subjectId;
  const ended = before.filter((one) => !holding.some(isSame(one)));
  const begun = holding.flatMap((one) => {
    const event = one.keepsOnly || before.some(isSame(one)) ? undefined : eventOf(one, { tenant, facts, nowMs });
    return event ? [{ ...one, event }] : [];
  });
  if (ended.length > 0) {
    await tx.query(
      `delete from alerts.reported_conditions using unnest($3::text[], $4::text[]) as ended (kind, subject_id)
        where workspace_id = $1 and environment = $2
          and reported_conditions.kind = ended.kind and reported_conditions.subject_id = ended.subject_id`,
      [workspaceId, environment, ended.map(({ kind }) => kind), ended.map(({ subjectId }) => subjectId)],
    );
  }
  if (begun.length === 0) return;
  await tx.query(
    `insert into alerts.reported_conditions (workspace_id, environment, kind, subject_id)
     select $1, $2, * from unnest($3::text[], $4::text[])`,
    [workspaceId, environment, begun.map(({ kind }) => kind), begun.map(({ subjectId }) => subjectId)],
  );
  await queueEvents(
    tx,
    'alerts',
    begun.map(({ event }) => event),
  );
}

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
  const now = new Date(nowMs);
  const startOf = (months: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)).toISOString();
  return {
    id: workspaceId,
    type: 'workspace',
    environment,
    limits: { requests_per_month: month.quota },
    usage: { requests: month.used, month_start: startOf(0), month_end: startOf(1) },
  };
}
