import { durationMs } from '@bufbuild/protobuf/wkt';
import { checkVersion, type FieldViolation, RmsError } from '@rms/base/errors';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { AlertsService, UpdateRuleRequest } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { type Handlers, type RpcContext, userOfActor } from '@rms/rpc';
import { readChannels } from '../channel/channel-queries.ts';
import { evaluateSoon } from '../evaluate/evaluation-queries.ts';
import type { Recipients } from '../recipient/recipients.ts';
import type { Workspaces } from '../recipient/workspaces.ts';
import { refuse } from '../refuse.ts';
import { type AlertKind, checkRule, isEmailAddress, type Rule, ruleOf, withDefaults } from '../rule/rule.ts';
import { ruleChanges, ruleEntry } from '../rule/rule-audit.ts';
import { fromKindMessage, toRuleMessage } from '../rule/rule-message.ts';
import { readRules, readUnsubscribed, removeUnsubscribed } from '../rule/rule-queries.ts';
import type { HandlerParts } from './handler.ts';

interface Parts extends Pick<HandlerParts, 'pool' | 'evaluations'> {
  readonly workspaces: Workspaces;
  readonly recipients: Recipients;
  /** Called when emails are queued. */
  readonly onEmails: () => void;
}

/**
 * Changes the fields that are set, and schedules an immediate evaluation. Asks added recipients who are not members to
 * confirm. Throws `precondition_failed` if the rule has none of the expected versions.
 */
export function updateRule(parts: Parts): Handlers<typeof AlertsService>['updateRule'] {
  const { pool, evaluations, workspaces, recipients, onEmails } = parts;
  return async (request, context) => {
    const tenant = toTenant(request);
    const { workspaceId } = tenant;
    const kind = fromKindMessage(request.kind);
    const resubscribed = request.unsubscribed
      ? await readResubscribed(parts, { ...tenant, kind, stillOut: request.unsubscribed.addresses }, context)
      : undefined;
    const current = (await readRules(pool, tenant)).find((one) => one.kind === kind)?.recipients ?? [];
    const given = request.recipients?.addresses.map((address) => address.trim()).filter(isEmailAddress) ?? [];
    const outside = await recipients.unconfirmedOf(workspaceId, [...current, ...given]);
    const workspaceName = outside.size > 0 ? await workspaces.nameOf(workspaceId) : '';
    const { rule, requested } = await inTransaction(pool, async (tx) => {
      // Locks the tenant's row, which serializes rule changes and evaluations.
      await evaluateSoon(tx, [tenant], 0);
      const stored = withDefaults(tenant, await readRules(tx, tenant, 'lock'));
      const before = ruleOf(stored, kind);
      checkVersion(before.version, request.expectedVersions);
      const rule = { ...change(before, request), version: before.version + 1 };
      const details = [...checkRule(rule), ...(await missingChannels(tx, rule))];
      if (details.length > 0) throw new RmsError('invalid_request', { details });
      const updatedAt = new Date();
      await writeRule(tx, rule, updatedAt);
      const isBack = resubscribed !== undefined && (await removeUnsubscribed(tx, tenant, kind, resubscribed));
      const known = new Set(before.recipients.map((address) => address.toLowerCase()));
      const added = rule.recipients.filter((address) => !known.has(address.toLowerCase()));
      const toConfirm = added.filter((address) => outside.has(address.toLowerCase()));
      const requested = await recipients.ask(tx, { id: workspaceId, name: workspaceName }, toConfirm);
      const out = isBack ? [resubscribed] : [];
      const changes = ruleChanges({ ...before, unsubscribed: out }, { ...rule, unsubscribed: [] });
      await appendAudit(tx, context, [ruleEntry(tenant, kind, { action: 'alert_rule.updated', changes })]);
      return { rule: { ...rule, updatedAt }, requested };
    });
    evaluations.wake();
    if (requested > 0) onEmails();
    return { rule: toRuleMessage(rule, await readUnsubscribed(pool, tenant), outside) };
  };
}

/**
 * Returns the address that a change subscribes again. Throws `invalid_request` unless it is the
 * caller's address: only the recipient can undo an unsubscription.
 */
async function readResubscribed(
  { pool, workspaces }: Parts,
  { kind, stillOut, ...tenant }: Tenant & { readonly kind: AlertKind; readonly stillOut: readonly string[] },
  { actor }: Pick<RpcContext, 'actor'>,
): Promise<string | undefined> {
  const keep = new Set(stillOut.map((address) => address.toLowerCase()));
  const unsubscribed = (await readUnsubscribed(pool, tenant)).filter((one) => one.kind === kind);
  const removed = unsubscribed.map(({ address }) => address).filter((address) => !keep.has(address));
  if (removed.length === 0) return undefined;
  const userId = userOfActor(actor);
  const self = (await workspaces.membersOf(tenant.workspaceId)).find((member) => member.userId === userId);
  const [own, ...others] = removed;
  if (own !== self?.email.toLowerCase() || others.length > 0)
    refuse('unsubscribed', 'can only lose your own address; other recipients must resubscribe themselves');
  return own;
}

function change(rule: Rule, request: UpdateRuleRequest): Rule {
  return {
    ...rule,
    enabled: request.enabled ?? rule.enabled,
    threshold: request.threshold ?? rule.threshold,
    windowSeconds: request.window ? durationMs(request.window) / 1_000 : rule.windowSeconds,
    minimum: request.minimum === undefined ? rule.minimum : Number(request.minimum),
    recipients: request.recipients ? unique(request.recipients.addresses) : rule.recipients,
    toOwners: request.toOwners ?? rule.toOwners,
    channels: request.channels ? [...new Set(request.channels.ids)] : rule.channels,
  };
}

function unique(addresses: readonly string[]): string[] {
  return [...new Map(addresses.map((address) => [address.trim().toLowerCase(), address.trim()])).values()];
}

/** Returns a violation per channel of a rule that does not exist. */
async function missingChannels(tx: Queryable, rule: Rule): Promise<FieldViolation[]> {
  const known = new Set((await readChannels(tx, rule, rule.channels)).map(({ id }) => id));
  const missing = rule.channels.filter((id) => !known.has(id));
  return missing.map((id) => ({ field: 'channels', message: `there is no alert channel "${id.slice(0, 64)}"` }));
}

/** Inserts or replaces a rule. */
async function writeRule(tx: Queryable, rule: Rule, updatedAt: Date): Promise<void> {
  await tx.query(
    `insert into alerts.rules
            (workspace_id, environment, kind, enabled, threshold, window_seconds, minimum, recipients, to_owners,
             channels, version, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         on conflict (workspace_id, environment, kind) do update
        set enabled = excluded.enabled, threshold = excluded.threshold, window_seconds = excluded.window_seconds,
            minimum = excluded.minimum, recipients = excluded.recipients, to_owners = excluded.to_owners,
            channels = excluded.channels, version = excluded.version, updated_at = excluded.updated_at`,
    [
      rule.workspaceId,
      rule.environment,
      rule.kind,
      rule.enabled,
      rule.threshold,
      rule.windowSeconds,
      rule.minimum,
      rule.recipients,
      rule.toOwners,
      rule.channels,
      rule.version,
      updatedAt,
    ],
  );
}
