import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { toTenant } from '@rms/base/tenant';
import { NoConnectionError } from '@rms/net/guarded-http';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import {
  type AlertsService,
  TestChannelResponseSchema,
  TestEmailState,
} from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Channel } from '../channel/channel.ts';
import { channelEntry } from '../channel/channel-audit.ts';
import { findChannel } from '../channel/channel-queries.ts';
import type { ChannelReport } from '../channel/report.ts';
import { type Sent, sendToChannel, type TransmitParts } from '../channel/transmit.ts';
import { emailLifeMs } from '../email/email.ts';
import { queueEmails } from '../email/email-queries.ts';
import { renderLayout } from '../email/layout.ts';
import { outcomesOf } from '../email/test-outcomes.ts';
import { takeEmails } from '../recipient/email-limits.ts';
import { emailContext } from '../sealed/contexts.ts';
import { type ChannelParts, found } from './handler.ts';

interface Parts extends ChannelParts, Omit<TransmitParts, 'db' | 'box'> {
  /** Whether emails can be sent. Otherwise they stay queued. */
  readonly isSending: boolean;
}

/** Length of the returned part of a response, in bytes. */
const bodyLength = 1_000;

/**
 * Sends a test message, and returns the first attempt's outcome. An alert that it opens in PagerDuty is resolved.
 * Throws `rate_limit_exceeded`.
 */
export function testChannel(parts: Parts): Handlers<typeof AlertsService>['testChannel'] {
  const { pool, idempotency, workspaces, isSending, onEmails } = parts;
  return async (request, context) => {
    const tenant = toTenant(request);
    const { id } = request;
    const workspaceName = await workspaces.nameOf(tenant.workspaceId);
    const once = { tenant: () => tenant, operation: 'test alert channel', key: request.idempotencyKey, content: id };
    const { response, replayed } = await idempotency.onceAround(once, TestChannelResponseSchema, {
      async prepare(tx) {
        const channel = found(await findChannel(tx, tenant, id), 'alert channel', id);
        const emails = emailsOf(parts, channel, workspaceName, await recipientsOf(tx, parts, channel));
        const recipients = emails.map(({ recipient }) => recipient);
        await takeEmails(tx, { kind: 'test', workspaceId: tenant.workspaceId, recipients });
        await queueEmails(tx, emails);
        const details = channel.type === 'email' ? { recipients } : {};
        await appendAudit(tx, context, [channelEntry(channel, { action: 'alert_channel.tested', details })]);
        return { channel, emailIds: emails.map((email) => email.id) };
      },
      async act({ channel, emailIds }) {
        if (channel.type !== 'email') return outcomeOf(await send(parts, channel, workspaceName));
        onEmails();
        const emails = isSending ? await outcomesOf(pool, tenant, emailIds, context.signal) : [];
        const failed = emails.find(({ state }) => state !== TestEmailState.SENT);
        const delivered = emails.length > 0 && !failed;
        const error = failed ? failed.reply || 'not sent yet' : delivered ? '' : 'no email was sent';
        return { delivered, error, emails };
      },
    });
    return { ...response, replayed };
  };
}

/** Returns a channel's confirmed addresses. */
async function recipientsOf(tx: Queryable, { recipients }: Parts, channel: Channel): Promise<string[]> {
  const unconfirmed = await recipients.unconfirmedOf(channel.workspaceId, channel.addresses, tx);
  return channel.addresses.filter((address) => !unconfirmed.has(address.toLowerCase()));
}

function emailsOf({ box, time }: Parts, channel: Channel, workspaceName: string, recipients: readonly string[]) {
  const { workspaceId, environment, name } = channel;
  const title = `Test: alert channel ${name}`;
  const content = renderLayout({
    subject: `${title} · ${workspaceName} (${environment})`,
    headline: title,
    paragraphs: [`This is a test of an alert channel of ${workspaceName} (${environment}). No action is needed.`],
    mood: 'plain',
    footer: [`You receive this email because your address belongs to the alert channel “${name}”.`],
  });
  return recipients.map((recipient) => {
    const ref = { workspaceId, environment, id: newId('ntf') };
    const sealed = box.seal(JSON.stringify(content), emailContext(ref));
    return { ...ref, recipient, sealed, expiresAt: new Date(time.nowMs() + emailLifeMs) };
  });
}

async function send(parts: Parts, channel: Channel, workspaceName: string): Promise<Sent> {
  const reportId = newId('ntf');
  const base = {
    kind: 'quota',
    reportId,
    workspaceName,
    title: `alert channel ${channel.name}`,
    incidents: [],
  } as const;
  const sendReport = (change: ChannelReport['change']) =>
    sendToChannel(parts, channel, { messageId: newId('ntf'), report: { ...base, change } });
  try {
    const sent = await sendReport('test');
    if (channel.type === 'pagerduty' && sent.error === '') await sendReport('ended');
    return sent;
  } catch (error) {
    if (error instanceof NoConnectionError) throw new RmsError('service_unavailable', { cause: error });
    throw error;
  }
}

function outcomeOf({ statusCode, error, responseBody, durationMs }: Sent) {
  const body = responseBody.subarray(0, bodyLength).toString('utf8');
  return { delivered: error === '', statusCode, error, responseBody: body, durationMs };
}
