import { createHash } from 'node:crypto';
import { createWakeableSleep } from '@rms/async';
import { type AuditOrigin, appendAudit } from '@rms/audit';
import { type DatabaseTime, inTransaction, type Pool } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Logger } from '@rms/logging';
import type { Keys, SecretBox } from '@rms/secrets';
import type { Worker } from '@rms/service';
import type { Tenant } from '@rms/tenant';
import { emailLifeMs } from '../email/email.ts';
import { queueEmails, readReports } from '../email/email-queries.ts';
import { takeEmails } from '../recipient/email-limits.ts';
import type { Recipients } from '../recipient/recipients.ts';
import type { Workspaces } from '../recipient/workspaces.ts';
import { type AlertKind, type Rule, withDefaults } from '../rule/rule.ts';
import { ruleEntry } from '../rule/rule-audit.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import { emailContext } from '../sealed/email-context.ts';
import { addressesOf } from './addresses.ts';
import { type AlertEmail, alertEmail, threadOf, titleOf } from './alert-email.ts';
import {
  deleteNotification,
  leaseNotifications,
  type Notification,
  postponeNotifications,
} from './notification-queries.ts';
import { makeResubscribeToken, makeUnsubscribeToken } from './unsubscribe-token.ts';

export interface NotifierParts {
  readonly pool: Pool;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly workspaces: Workspaces;
  readonly recipients: Pick<Recipients, 'unconfirmedOf'>;
  readonly box: SecretBox;
  readonly unsubscribeKeys: Keys;
  /** Base URL of links, without a trailing slash. */
  readonly dashboardUrl: string;
  readonly log: Logger;
  /** Called when emails are queued. */
  readonly onEmails: () => void;
}

/** Content of a notification. Emails are deduplicated by its ID. */
export type NotificationParts = Pick<
  AlertEmail,
  'workspaceId' | 'environment' | 'kind' | 'notice' | 'subjectId' | 'object' | 'summary' | 'openedAt' | 'at'
> & { readonly id: string };

/** Creates emails for pending notifications. */
export interface Notifier extends Worker {
  /** Starts a lookup of pending notifications immediately. */
  wake(): void;
  /**
   * Queues a test for the recipients of a rule and returns their addresses and the IDs of the emails. Throws
   * `rate_limit_exceeded`. Rejects if auth is unavailable.
   */
  test(notification: NotificationParts, origin: AuditOrigin): Promise<{ recipients: string[]; emailIds: string[] }>;
}

const pollMs = 2_000;
const batchSize = 20;
/** Also the delay before a retry while auth is unavailable. */
const leaseMs = 15_000;

/**
 * Turns each notification into one email per recipient, in one transaction, so that no recipient gets it twice or not
 * at all. The notifications of a workspace that exceeds its limit of emails wait.
 */
export function createNotifier(parts: NotifierParts): Notifier {
  const { pool, time, workspaces, recipients: known, box, unsubscribeKeys, dashboardUrl, log, onEmails } = parts;
  const sleeper = createWakeableSleep();

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

  const emailsOf = async (notification: NotificationParts, recipients: readonly string[]) => {
    const workspaceName = await workspaces.nameOf(notification.workspaceId);
    const { workspaceId, environment, kind, notice } = notification;
    const thread = threadOf(notification);
    const reports =
      notice === 'repeated' || notice === 'recovered'
        ? await readReports(pool, notification, thread, recipients)
        : undefined;
    const report = notice === 'opened' ? { thread, title: titleOf(notification) } : undefined;
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

  const tellOf = async (notification: Notification) => {
    const { coveredBy } = notification;
    const informed = coveredBy ? await addresses(notification, coveredBy) : [];
    const known = new Set(informed.map((address) => address.toLowerCase()));
    const recipients = (await addresses(notification, notification.kind)).filter(
      (address) => !known.has(address.toLowerCase()),
    );
    const emails = await emailsOf({ ...notification, at: notification.createdAt }, recipients);
    await inTransaction(pool, async (tx) => {
      if (!(await deleteNotification(tx, notification))) return;
      await takeEmails(tx, { kind: 'alert', workspaceId: notification.workspaceId, recipients });
      await queueEmails(tx, emails);
    });
    if (emails.length > 0) return onEmails();
    if (coveredBy) return;
    const { workspaceId, kind, incidentId } = notification;
    log.warn(
      { workspace_id: workspaceId, kind, incident_id: incidentId },
      'alert not sent: the rule has no recipients',
    );
  };

  return {
    name: 'notifications',
    wake: sleeper.wake,
    async test(notification, origin) {
      const { workspaceId, kind } = notification;
      const recipients = await addresses(notification, kind);
      const emails = await emailsOf(notification, recipients);
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
        const notifications = await leaseNotifications(pool, batchSize, leaseMs);
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
        if (notifications.length < batchSize) await sleeper.sleep(pollMs, signal);
      }
    },
  };
}

/** Derives a stable name from an address, so that an email created again has the same ID and is not queued twice. */
function nameOf(address: string): string {
  return createHash('sha256').update(address.toLowerCase()).digest('hex').slice(0, 12);
}
