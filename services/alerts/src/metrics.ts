import { Counter, type Metrics } from '@rms/runtime/metrics';

export interface AlertsMetrics {
  /** Notices by rule and type. */
  readonly notices: Counter<'kind' | 'notice'>;
  /** Attempts to send an email. */
  readonly emails: Counter<'outcome'>;
}

export function createAlertsMetrics(metrics: Metrics): AlertsMetrics {
  const registers = [metrics];
  return {
    notices: new Counter({
      name: 'rms_alert_notices_total',
      help: 'Notices about opened, repeated and recovered incidents, by rule.',
      labelNames: ['kind', 'notice'],
      registers,
    }),
    emails: new Counter({
      name: 'rms_emails_total',
      help: 'Attempts to send an email, by outcome: sent, refused (permanently), try_again, given_up.',
      labelNames: ['outcome'],
      registers,
    }),
  };
}
