import { createHash } from 'node:crypto';
import { RmsError } from '@rms/base/errors';
import type { Keys, SecretBox } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';
import { type AuditOrigin, appendAudit } from '@rms/postgres/audit';
import { type DatabaseTime, inTransaction, type Pool, type Queryable, type Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { emailLifeMs } from '../email/email.ts';
import { type QueuedEmail, queueEmails, readReports } from '../email/email-queries.ts';
import { takeEmails } from '../recipient/email-limits.ts';
import type { Recipients } from '../recipient/recipients.ts';
import type { Workspaces } from '../recipient/workspaces.ts';
import { type AlertKind, type Rule, withDefaults } from '../rule/rule.ts';
import { ruleEntry } from '../rule/rule-audit.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import { emailContext } from '../sealed/email-context.ts';
import { addressesOf } from './addresses.ts';
import { type AlertEmail, alertEmail, type ReportedIncident, threadOf, titleOf } from './alert-email.ts';
import {
  deleteNotifications,
  leaseNotifications,
  type Notification,
  postponeNotifications,
  readGroup,
} from './notification-queries.ts';
import { makeResubscribeToken, makeUnsubscribeToken } from './unsubscribe-token.ts';

export interface NotifierParts {
  readonly pool: Pool;
  /** The queue of pending notifications. */
  readonly queue: Queue;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly workspaces: Workspaces;
  readonly recipients: Pick<Recipients, 'unconfirmedOf'>;
  readonly box: SecretBox;
  readonly unsubscribeKeys: Keys;
  /** Base URL of links, without a trailing slash. */
  readonly dashboardUrl: string;
  readonly log: Logger;
  /** See `AlertsConfig`. */
  readonly gatherMs: number;
  /** Called when emails are queued. */
  readonly onEmails: () => void;
}

/** Content of emails. They are deduplicated by its ID. */
export type NotificationParts = Pick<AlertEmail, 'workspaceId' | 'environment' | 'kind' | 'notice' | 'incidents'> & {
  readonly id: string;
};

/** Creates emails for pending notifications. */
export interface Notifier extends Worker {
  /**
   * Queues a test for a rule's recipients and returns their addresses and the email IDs. Throws
   * `rate_limit_exceeded`. Rejects if auth is unavailable.
   */
  test(notification: NotificationParts, origin: AuditOrigin): Promise<{ recipients: string[]; emailIds: string[] }>;
}

const pollMs = 2_000;
const batchSize = 20;
/** Also the delay before a retry while auth is unavailable. */
const leaseMs = 15_000;
/** Maximum number of incidents that one email reports. */
const groupSize = 1_000;
/** Maximum number of incidents that a log line names. */
const maxLogged = 10;

/**
 * Turns the due notifications of a rule into one email per recipient, in one transaction, so that no recipient gets them
 * twice or not at all. A workspace's notifications beyond its email limit stay pending.
 */
export function createNotifier(parts: NotifierParts): Notifier {
  const {
    pool,
    queue,
    time,
    workspaces,
    recipients: known,
    box,
    unsubscribeKeys,
    dashboardUrl,
    gatherMs,
    log,
    onEmails,
  } = parts;

  const addresses = async (tenant: Tenant, kind: AlertKind) => {
    const rule = withDefaults(tenant, await readRules(pool, tenant)).find((one) => one.kind === kind) as Rule;
    const members = rule.toOwners ? await workspaces.membersOf(tenant.workspaceId) : [];
    const unsubscribed = (await readUnsubscribed(pool, tenant)).filter((one) => one.kind === kind);
    return addressesOf(rule, {
      owners: members.filter(({ isOwner }) => isOwner).map(({ email }) => email),
      unsubscribed: unsubscribed.map(({ address }) => address),
      unconfirmed: await known.unconfirmedOf(tenant.workspaceId, rule.recipients),
    });
  };

  /** Returns one email per recipient. */
  const emailsOf = async (
    db: Queryable,
    notification: NotificationParts,
    recipients: readonly string[],
    workspaceName: string,
  ) => {
    const { workspaceId, environment, kind, notice, incidents } = notification;
    const [first, ...others] = incidents;
    // An email about several incidents belongs to no thread.
    const thread = others.length === 0 ? threadOf(kind, first) : undefined;
    const isLater = notice === 'repeated' || notice === 'recovered';
    const reports = thread && isLater ? await readReports(db, notification, thread, recipients) : undefined;
    const report = thread && notice === 'opened' ? { thread, title: titleOf(kind, first) } : undefined;
    return recipients.map((recipient) => {
      const id = `${notification.id}-${nameOf(recipient)}`;
      const unsubscription = { workspaceId, environment, kind, address: recipient };
      const unsubscribe = {
        url: `${dashboardUrl}/unsubscribe?token=${makeUnsubscribeToken(unsubscribeKeys, unsubscription)}`,
        undoToken: makeResubscribeToken(unsubscribeKeys, unsubscription, time.nowMs()),
      };
      const shown = { ...notification, report: reports?.get(recipient) };
      const content = alertEmail({ ...shown, workspaceName, dashboardUrl, unsubscribe });
      const sealed = box.seal(JSON.stringify(content), emailContext({ workspaceId, environment, id }));
      const expiresAt = new Date(time.nowMs() + emailLifeMs);
      return { workspaceId, environment, id, recipient, sealed, expiresAt, report };
    });
  };

  /** Reports all due notifications of the rule and kind of `leased`. */
  const tellOf = async (leased: Notification) => {
    const { workspaceId, kind } = leased;
    const group = await readGroup(pool, leased, { withinMs: leaseMs, limit: groupSize });
    // An email of another notification has reported it.
    if (group.length === 0) return;
    const workspaceName = await workspaces.nameOf(workspaceId);
    const all = await addresses(leased, kind);
    const informed = new Map<AlertKind | undefined, ReadonlySet<string>>();
    for (const { coveredBy } of group) {
      if (coveredBy && !informed.has(coveredBy)) {
        informed.set(coveredBy, new Set((await addresses(leased, coveredBy)).map((one) => one.toLowerCase())));
      }
    }
    const emails = await inTransaction(pool, async (tx) => {
      const deleted = await deleteNotifications(tx, leased, group);
      const queued: QueuedEmail[] = [];
      for (const recipient of all) {
        // Without the incidents that another rule reports to the recipient.
        const [first, ...others] = deleted.filter(
          ({ coveredBy }) => !informed.get(coveredBy)?.has(recipient.toLowerCase()),
        );
        if (!first) continue;
        const incidents = [toIncident(first), ...others.map(toIncident)] as const;
        queued.push(...(await emailsOf(tx, { ...first, incidents }, [recipient], workspaceName)));
      }
      await takeEmails(tx, { kind: 'alert', workspaceId, recipients: queued.map(({ recipient }) => recipient) });
      await queueEmails(tx, queued);
      return queued;
    });
    if (emails.length > 0) return onEmails();
    if (all.length > 0) return;
    log.warn(
      { workspace_id: workspaceId, kind, incident_ids: group.map(({ incidentId }) => incidentId).slice(0, maxLogged) },
      'alert not sent: the rule has no recipients',
    );
  };

  return {
    name: 'notifications',
    async test(notification, origin) {
      const { workspaceId, kind } = notification;
      const recipients = await addresses(notification, kind);
      const workspaceName = await workspaces.nameOf(workspaceId);
      const emails = await emailsOf(pool, notification, recipients, workspaceName);
      await inTransaction(pool, async (tx) => {
        await takeEmails(tx, { kind: 'test', workspaceId, recipients });
        await queueEmails(tx, emails);
        const action = { action: 'alert_rule.tested', details: { recipients } } as const;
        await appendAudit(tx, origin, [ruleEntry(notification, kind, action)]);
      });
      onEmails();
      return { recipients, emailIds: emails.map(({ id }) => id) };
    },
    async run(signal) {
      while (!signal.aborted) {
        const notifications = await leaseNotifications(pool, { limit: batchSize, leaseMs, gatherMs });
        const limited = new Set<string>();
        for (const notification of notifications) {
          if (limited.has(notification.workspaceId)) continue;
          try {
            await tellOf(notification);
          } catch (err) {
            if (err instanceof RmsError && err.code === 'rate_limit_exceeded') {
              limited.add(notification.workspaceId);
              await postponeNotifications(pool, notification.workspaceId, err.retryAfterSeconds ?? 0);
              continue;
            }
            log.warn({ err, notification_id: notification.id }, 'could not send an alert notification; retrying');
          }
        }
        if (notifications.length < batchSize) await queue.sleep(pollMs, signal);
      }
    },
  };
}

function toIncident({ subjectId, object, summary, openedAt, createdAt }: Notification): ReportedIncident {
  return { subjectId, object, summary, openedAt, at: createdAt };
}

/** Derives a stable name from an address, so that an email created again has the same ID and is not queued twice. */
function nameOf(address: string): string {
  return createHash('sha256').update(address.toLowerCase()).digest('hex').slice(0, 12);
}
