import { createHash } from 'node:crypto';
import { inTransaction, type Pool } from '@rms/db';
import type { Keys, SecretBox } from '@rms/secrets';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { mailLifeMs } from '../mail/mail.ts';
import { queueMails } from '../mail/mail-queries.ts';
import { type AlertKind, type Rule, withDefaults } from '../rule/rule.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import type { Tenant } from '../tenant.ts';
import { type AlertMail, alertMail } from './alert-mail.ts';
import { deleteNotification, leaseNotifications, type Notification } from './notification-queries.ts';
import { addressesOf, type People } from './recipients.ts';
import { makeUnsubscribeToken } from './unsubscribe-token.ts';

export interface NotifierParts {
  readonly pool: Pool;
  readonly people: People;
  readonly box: SecretBox;
  readonly unsubscribeKeys: Keys;
  /** Where links lead, without a slash at the end. */
  readonly dashboardUrl: string;
  readonly log: Logger;
  /** Told when mails are queued. */
  readonly onMails: () => void;
}

/** What is told, and an id by which it is told once. */
export type Telling = Pick<
  AlertMail,
  'workspaceId' | 'environment' | 'kind' | 'notice' | 'subjectId' | 'summary' | 'openedAt' | 'at'
> & { readonly id: string };

/** Makes mails of what there is to tell. */
export interface Notifier extends Worker {
  /** There is something to tell. */
  wake(): void;
  /** Tells the recipients of a rule now; answers with their addresses. Rejects if auth cannot say who they are. */
  tell(telling: Telling): Promise<string[]>;
}

const pollMs = 2_000;
const atOnce = 20;
/** Also how long to wait when auth cannot be asked. */
const leaseMs = 15_000;

/** Turns each notification into a mail to every recipient of its rule, in one transaction: none is told twice or not at all. */
export function createNotifier(parts: NotifierParts): Notifier {
  const { pool, people, box, unsubscribeKeys, dashboardUrl, log, onMails } = parts;
  let wake = new AbortController();

  const addresses = async (tenant: Tenant, kind: AlertKind) => {
    const rule = withDefaults(tenant, await readRules(pool, tenant)).find((one) => one.kind === kind) as Rule;
    const owners = rule.toOwners ? await people.ownersOf(tenant.workspaceId) : [];
    const unsubscribed = (await readUnsubscribed(pool, tenant)).filter((one) => one.kind === kind);
    return addressesOf(
      rule,
      owners,
      unsubscribed.map(({ address }) => address),
    );
  };

  const mailsOf = async (telling: Telling, recipients: readonly string[]) => {
    const workspaceName = await people.nameOf(telling.workspaceId);
    const { workspaceId, environment, kind } = telling;
    return recipients.map((recipient) => {
      const id = `${telling.id}-${nameOf(recipient)}`;
      const token = makeUnsubscribeToken(unsubscribeKeys, { workspaceId, environment, kind, address: recipient });
      const unsubscribeUrl = `${dashboardUrl}/unsubscribe?token=${token}`;
      const content = alertMail({ ...telling, workspaceName, dashboardUrl, unsubscribeUrl });
      const sealed = box.seal(JSON.stringify(content), id);
      return { workspaceId, environment, id, recipient, sealed, expiresAt: new Date(Date.now() + mailLifeMs) };
    });
  };

  const tellOf = async (notification: Notification) => {
    const recipients = await addresses(notification, notification.kind);
    const mails = await mailsOf({ ...notification, at: notification.createdAt }, recipients);
    await inTransaction(pool, async (tx) => {
      await queueMails(tx, mails);
      await deleteNotification(tx, notification);
    });
    if (mails.length > 0) return onMails();
    const { workspaceId, kind, incidentId } = notification;
    log.warn({ workspace_id: workspaceId, kind, incident_id: incidentId }, 'an alert has no recipients');
  };

  return {
    name: 'notifications',
    wake: () => wake.abort(),
    async tell(telling) {
      const recipients = await addresses(telling, telling.kind);
      await queueMails(pool, await mailsOf(telling, recipients));
      onMails();
      return recipients;
    },
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController();
        const notifications = await leaseNotifications(pool, atOnce, leaseMs);
        for (const notification of notifications) {
          try {
            await tellOf(notification);
          } catch (err) {
            log.warn(
              { err, notification_id: notification.id },
              'nobody could be told of an alert yet; it is tried again',
            );
          }
        }
        if (notifications.length < atOnce) await abortableDelay(pollMs, AbortSignal.any([signal, wake.signal]));
      }
    },
  };
}

/** The same for the same address, so that a mail that is made again is not queued again. */
function nameOf(address: string): string {
  return createHash('sha256').update(address.toLowerCase()).digest('hex').slice(0, 12);
}
