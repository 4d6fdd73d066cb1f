import type { SecretBox } from '@rms/base/secrets';
import { statusError } from '@rms/base/signature';
import type { Environment } from '@rms/base/tenant';
import { type OriginPools, post } from '@rms/net/guarded-http';
import type { Queryable } from '@rms/postgres/db';
import type { Delivered } from '../email/sender.ts';
import { channelContext } from '../sealed/contexts.ts';
import type { Channel } from './channel.ts';
import { findChannel } from './channel-queries.ts';
import { type Rendered, renderers } from './render.ts';
import { type ChannelReport, hasEarlierMessage } from './report.ts';

export interface TransmitParts {
  readonly db: Queryable;
  readonly box: SecretBox;
  /** Connects only to permitted addresses. */
  readonly agent: OriginPools;
  /** URL of the Events API of PagerDuty. */
  readonly pagerDutyUrl: string;
  /** Base URL of links, without a trailing slash. */
  readonly dashboardUrl: string;
}

/** A message, as its row is stored. */
interface QueuedReport {
  readonly workspaceId: string;
  readonly environment: string;
  readonly id: string;
  /** ID of the channel. */
  readonly recipient: string;
  readonly sealed: Buffer;
}

/** Outcome of a request to a channel's receiver. */
export interface Sent {
  readonly statusCode: number;
  /** Empty if the receiver accepted the message. */
  readonly error: string;
  readonly responseBody: Buffer;
  readonly durationMs: number;
}

/** Time for the whole response. */
const timeoutMs = 10_000;

/** Sends a message to a channel that is not of type email. Rejects only with `NoConnectionError`. */
export async function sendToChannel(
  { box, agent, pagerDutyUrl, dashboardUrl }: Omit<TransmitParts, 'db'>,
  channel: Channel,
  { messageId, report }: Pick<Rendered, 'messageId' | 'report'>,
): Promise<Sent> {
  const { type, workspaceId, environment, url, secret: sealed } = channel;
  if (type === 'email' || !sealed) throw new Error('emails are not sent to a URL');
  const secret = box.open(sealed, channelContext(channel)).toString('utf8');
  const message = { workspaceId, environment, messageId, report, url, secret, pagerDutyUrl, dashboardUrl };
  const request = renderers[type]({ ...message, now: new Date() });
  const { statusCode, error, responseBody, durationMs } = await post(agent, { workspaceId, ...request, timeoutMs });
  // Receivers of signed webhooks confirm with 200, as for deliveries; PagerDuty responds with 202.
  const isAccepted = statusCode === 200 || (type !== 'webhook' && statusCode > 200 && statusCode < 300);
  return { statusCode, error: error ?? (isAccepted ? '' : statusError(statusCode)), responseBody, durationMs };
}

/** Slack's and PagerDuty's statuses for a permanently rejected message or channel. */
const permanent = new Set([400, 401, 403, 404, 405, 410, 413, 415, 422]);

/**
 * Sends a queued message. "refused": it is not attempted again. Messages about the same incidents are sent in order. Does
 * not reject.
 */
export async function transmit(parts: TransmitParts, message: QueuedReport): Promise<Delivered> {
  try {
    const { workspaceId, id, recipient } = message;
    const environment = message.environment as Environment;
    const report: ChannelReport = JSON.parse(message.sealed.toString('utf8'));
    const channel = await findChannel(parts.db, { workspaceId, environment }, recipient);
    if (!channel) return { outcome: 'refused', error: 'the channel was deleted' };
    if (await hasEarlierMessage(parts.db, message, report.reportId)) {
      return { outcome: 'try_again', error: 'an earlier message about the same incidents is not sent yet' };
    }
    const { statusCode, error } = await sendToChannel(parts, channel, { messageId: id, report });
    if (error === '') return { outcome: 'sent', reply: `status: ${statusCode}` };
    const isFinal = channel.type !== 'webhook' && permanent.has(statusCode);
    return { outcome: isFinal ? 'refused' : 'try_again', error };
  } catch (error) {
    return { outcome: 'try_again', error: (error as Error).message };
  }
}
