import { Counter, type Metrics } from '@rms/runtime/metrics';

export interface AlertsMetrics {
  /** Notices by rule and type. */
  readonly notices: Counter<'kind' | 'notice'>;
  /** Attempts to send an email. */
  readonly emails: Counter<'outcome'>;
  /** Attempts to send a message to a channel that is not of type email. */
  readonly channelMessages: Counter<'outcome'>;
}

export function createAlertsMetrics(metrics: Metrics): AlertsMetrics {
  const registers = [metrics];
  const created = {
    notices: new Counter<'kind' | 'notice'>({
      name: 'rms_alert_notices_total',
      help: 'Notices about opened, repeated and recovered incidents, by rule.',
      labelNames: ['kind', 'notice'],
      registers,
    }),
    emails: new Counter<'outcome'>({
      name: 'rms_emails_total',
      help: 'Attempts to send an email, by outcome: sent, refused (permanently), try_again, given_up.',
      labelNames: ['outcome'],
      registers,
    }),
    channelMessages: new Counter<'outcome'>({
      name: 'rms_channel_messages_total',
      help: 'Attempts to send an alert to a channel, without emails, by outcome: sent, refused, try_again, given_up.',
      labelNames: ['outcome'],
      registers,
    }),
  };
  for (const outcome of ['sent', 'refused', 'try_again', 'given_up']) created.channelMessages.inc({ outcome }, 0);
  return created;
}
