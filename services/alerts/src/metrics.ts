import { Counter, type Metrics } from '@rms/service';

export interface AlertsMetrics {
  /** What recipients were told, by rule. */
  readonly notices: Counter<'kind' | 'notice'>;
  /** Attempts to send a mail. */
  readonly mails: Counter<'outcome'>;
}

export function createAlertsMetrics(metrics: Metrics): AlertsMetrics {
  const registers = [metrics];
  return {
    notices: new Counter({
      name: 'rms_alert_notices_total',
      help: 'Alerts that were opened, repeated and recovered, by rule.',
      labelNames: ['kind', 'notice'],
      registers,
    }),
    mails: new Counter({
      name: 'rms_mails_total',
      help: 'Attempts to send a mail, by outcome: sent, refused (for good), try_again, given_up.',
      labelNames: ['outcome'],
      registers,
    }),
  };
}
