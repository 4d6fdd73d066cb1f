import { createHash } from 'node:crypto';
import { RmsError } from '@rms/base/errors';
import type { Keys, SecretBox } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';
import { type AuditOrigin, appendAudit } from '@rms/postgres/audit';
import { type DatabaseTime, inTransaction, type Pool, type Queryable, type Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { Channel } from '../channel/channel.ts';
import { readChannels } from '../channel/channel-queries.ts';
import { queueChannelMessages } from '../channel/report.ts';
import { emailLifeMs } from '../email/email.ts';
import { type EmailReport, type QueuedEmail, queueEmails, readReports, readTitles } from '../email/email-queries.ts';
import { isMuted } from '../incident/incident.ts';
import { countOpen, readIncidents, type StoredIncident, writeReport } from '../incident/incident-queries.ts';
import { takeEmails } from '../recipient/email-limits.ts';
import type { Recipients } from '../recipient/recipients.ts';
import type { Workspaces } from '../recipient/workspaces.ts';
import { type AlertKind, ruleOf, withDefaults } from '../rule/rule.ts';
import { ruleEntry } from '../rule/rule-audit.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import { emailContext } from '../sealed/contexts.ts';
import { addressesOf } from './addresses.ts';
import { type AlertEmail, alertEmail, type ReportedIncident, threadOf, titleOf } from './alert-email.ts';
import { messagesTo } from './channel-messages.ts';
import {
  deleteNotifications,
  leaseNotifications,
  type Notification,
  postponeNotifications,
  readGroup,
} from './notification-queries.ts';
import { isAboutRequests, type RequestDetailsParts, readRequestDetails } from './request-details.ts';
import { makeResubscribeToken, makeUnsubscribeToken } from './unsubscribe-token.ts';

export interface NotifierParts {
  readonly pool: Pool;
  /** The queue of pending notifications. */
  readonly queue: Queue;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly workspaces: Workspaces;
  readonly recipients: Pick<Recipients, 'unconfirmedOf'>;
  readonly requests: RequestDetailsParts['auth'];
  readonly box: SecretBox;
  readonly unsubscribeKeys: Keys;
  /** Base URL of links, without a trailing slash. */
  readonly dashboardUrl: string;
  readonly log: Logger;
  /** See `AlertsConfig`. */
  readonly gatherMs: number;
  /** See `AlertsConfig`. */
  readonly pollMs: number;
  /** Called when emails or messages to channels are queued. */
  readonly onEmails: () => void;
}

/** Content of emails. They are deduplicated by its ID. */
export interface NotificationParts
  extends Pick<
    AlertEmail,
    'workspaceId' | 'environment' | 'kind' | 'notice' | 'incidents' | 'remaining' | 'requestsSearch'
  > {
  readonly id: string;
  /** Message that reported all incidents; empty or missing: several, or none. */
  readonly reportId?: string;
}

/** A rule's destinations. */
interface Destinations {
  readonly addresses: readonly string[];
  /** Without channels of type email. */
  readonly channels: readonly Channel[];
  /** Window of the rule. */
  readonly windowSeconds: number;
}

/** Creates emails for pending notifications. */
export interface Notifier extends Worker {
  /**
   * Returns a function that queues a test for a rule's recipients and returns their addresses and the IDs of the
   * emails. It uses only its transaction's connection; `onEmails` must be called after the transaction. It throws
   * `rate_limit_exceeded`. Rejects if auth is unavailable.
   */
  prepareTest(notification: NotificationParts, origin: AuditOrigin): Promise<QueueTest>;
}

/** Queues a test's emails in a transaction. */
type QueueTest = (tx: Queryable) => Promise<{ recipients: readonly string[]; emailIds: readonly string[] }>;

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
    requests,
    box,
    unsubscribeKeys,
    dashboardUrl,
    gatherMs,
    pollMs,
    log,
    onEmails,
  } = parts;

  /** Returns a rule's addresses, and its channels of other types than email. */
  const destinationsOf = async (tenant: Tenant, kind: AlertKind): Promise<Destinations> => {
    const rule = ruleOf(withDefaults(tenant, await readRules(pool, tenant)), kind);
    const channels = await readChannels(pool, tenant, rule.channels);
    const given = [...rule.recipients, ...channels.flatMap(({ addresses }) => addresses)];
    const members = rule.toOwners ? await workspaces.membersOf(tenant.workspaceId) : [];
    const unsubscribed = (await readUnsubscribed(pool, tenant)).filter((one) => one.kind === kind);
    const addresses = addressesOf(
      { recipients: given, toOwners: rule.toOwners },
      {
        owners: members.filter(({ isOwner }) => isOwner).map(({ email }) => email),
        unsubscribed: unsubscribed.map(({ address }) => address),
        unconfirmed: await known.unconfirmedOf(tenant.workspaceId, given),
      },
    );
    const { windowSeconds } = rule;
    return { addresses, channels: channels.filter(({ type }) => type !== 'email'), windowSeconds };
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
    const thread = others.length === 0 ? threadOf(kind, first) : undefined;
    const isLater = notice === 'repeated' || notice === 'recovered';
    const reports = isLater ? await reportsTo(db, notification, thread, recipients) : undefined;
    const report = notice === 'opened' ? { thread: thread ?? '', title: titleOf(kind, incidents) } : undefined;
    return recipients.map((recipient) => {
      const id = emailId(notification.id, recipient);
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

  /** Returns details of the requests that an incident is about; undefined if it is about something else. */
  const requestDetailsOf = async (notification: Notification, windowSeconds: number) => {
    const { kind, notice, openedAt, createdAt } = notification;
    if (!isAboutRequests(kind)) return undefined;
    // The evaluation counts a minute that is partly inside the window completely. A recovery is about the whole incident.
    const from = notice === 'recovered' ? openedAt : createdAt;
    const sinceMs = from.getTime() - windowSeconds * 1_000 - 60_000;
    const parts = { auth: requests, log };
    const details = await readRequestDetails(parts, { ...notification, sinceMs, untilMs: createdAt.getTime() });
    return notice === 'recovered' ? { ...details, text: '' } : details;
  };

  /** Reports all due notifications of the rule and kind of `leased`. */
  const tellOf = async (leased: Notification) => {
    const { workspaceId, kind, notice } = leased;
    const group = await readGroup(pool, leased, { withinMs: leaseMs, limit: groupSize });
    // An email of another notification has reported it.
    if (group.length === 0) return;
    const workspaceName = await workspaces.nameOf(workspaceId);
    const all = await destinationsOf(leased, kind);
    const details = await requestDetailsOf(group[0] ?? leased, all.windowSeconds);
    const informed = new Map<AlertKind | undefined, ReadonlySet<string>>();
    for (const { coveredBy } of group) {
      if (!coveredBy || informed.has(coveredBy)) continue;
      const { addresses, channels } = await destinationsOf(leased, coveredBy);
      informed.set(coveredBy, new Set([...addresses.map((one) => one.toLowerCase()), ...channels.map(({ id }) => id)]));
    }
    /** Returns the incidents without those that another rule reports to the destination. */
    const forDestination = (notifications: readonly Notification[], destination: string) =>
      notifications.filter(({ coveredBy }) => !informed.get(coveredBy)?.has(destination));
    const queued = await inTransaction(pool, async (tx) => {
      const deleted = (await deleteNotifications(tx, leased, group)).map((one) =>
        details ? { ...one, summary: one.summary + details.text } : one,
      );
      const [first] = deleted;
      if (!first) return [];
      const incidentIds = deleted.map(({ incidentId }) => incidentId);
      if (notice === 'opened') await writeReport(tx, leased, deleted, first.id);
      const incidents = await readIncidents(tx, leased, incidentIds);
      const reportIds = new Set([...incidents.values()].map(({ reportId }) => reportId));
      const open = notice === 'recovered' ? await countOpen(tx, leased, [...reportIds]) : new Map<string, number>();
      const nowMs = time.nowMs();
      const isLoud = ({ incidentId }: Notification) => !isMuted(incidents.get(incidentId) ?? unmuted, nowMs);
      const loud = deleted.filter(isLoud);
      const emails: QueuedEmail[] = [];
      for (const recipient of all.addresses) {
        const [own, ...others] = forDestination(loud, recipient.toLowerCase());
        if (!own) continue;
        const told = [toIncident(own), ...others.map(toIncident)] as const;
        const reportId = commonReport([own, ...others], incidents);
        const remaining = open.get(reportId) ?? 0;
        const notification = { ...first, incidents: told, reportId, remaining, requestsSearch: details?.search };
        emails.push(...(await emailsOf(tx, notification, [recipient], workspaceName)));
      }
      const messages = all.channels.flatMap((channel) =>
        messagesTo(channel, {
          ...{ notice, kind, workspaceName, incidents, open, id: first.id },
          all: deleted,
          told: forDestination(loud, channel.id),
        }),
      );
      const destinations = [...emails.map(({ recipient }) => recipient), ...messages.map(({ channelId }) => channelId)];
      await takeEmails(tx, { kind: 'alert', workspaceId, recipients: destinations });
      await queueEmails(tx, emails);
      await queueChannelMessages(tx, messages);
      return destinations;
    });
    if (queued.length > 0) return onEmails();
    if (all.addresses.length + all.channels.length > 0) return;
    log.warn(
      { workspace_id: workspaceId, kind, incident_ids: group.map(({ incidentId }) => incidentId).slice(0, maxLogged) },
      'alert not sent: the rule has no recipients',
    );
  };

  return {
    name: 'notifications',
    async prepareTest(notification, origin) {
      const { workspaceId, kind } = notification;
      const { addresses: recipients } = await destinationsOf(notification, kind);
      const workspaceName = await workspaces.nameOf(workspaceId);
      return async (tx) => {
        const emails = await emailsOf(tx, notification, recipients, workspaceName);
        await takeEmails(tx, { kind: 'test', workspaceId, recipients });
        await queueEmails(tx, emails);
        const action = { action: 'alert_rule.tested', details: { recipients } } as const;
        await appendAudit(tx, origin, [ruleEntry(notification, kind, action)]);
        return { recipients, emailIds: emails.map(({ id }) => id) };
      };
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

const unmuted = { mutedUntilMs: undefined };

/** Returns the message that reported all these incidents; empty: several, or none. */
function commonReport(notifications: readonly Notification[], incidents: ReadonlyMap<string, StoredIncident>): string {
  const [reportId = '', ...others] = new Set(notifications.map((one) => incidents.get(one.incidentId)?.reportId ?? ''));
  return others.length > 0 ? '' : reportId;
}

/**
 * Returns the emails that reported a notification's incidents, by recipient: those in the same report, or else the last
 * of the thread, which another rule may have sent.
 */
async function reportsTo(
  db: Queryable,
  { reportId = '', ...tenant }: NotificationParts,
  thread: string | undefined,
  recipients: readonly string[],
): Promise<Map<string, EmailReport>> {
  const reports = thread ? await readReports(db, tenant, thread, recipients) : new Map<string, EmailReport>();
  if (reportId === '') return reports;
  const ids = new Map(recipients.map((recipient) => [emailId(reportId, recipient), recipient]));
  for (const [id, title] of await readTitles(db, tenant, [...ids.keys()])) {
    const recipient = ids.get(id);
    if (recipient !== undefined && title !== '') reports.set(recipient, { id, title });
  }
  return reports;
}

/** Returns the ID of an email. An email that is created again has the same ID, and is not queued twice. */
function emailId(notificationId: string, address: string): string {
  const name = createHash('sha256').update(address.toLowerCase()).digest('hex').slice(0, 12);
  return `${notificationId}-${name}`;
}
