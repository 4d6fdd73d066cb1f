import { type Keys, readKeyRing } from '@rms/secrets';
import {
  type MetricsAddress,
  orSettingsError,
  readCaFile,
  requireSettings,
  type Settings,
  SettingsError,
} from '@rms/service';
import type { Sender } from './mail/compose.ts';
import { readSmtpUrl, type SmtpConfig } from './mail/smtp.ts';
import { isMailAddress } from './rule/rule.ts';

export interface AlertsConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Seal and open mails that wait. */
  readonly mailKeys: Keys;
  /** Authenticate links that unsubscribe. */
  readonly unsubscribeKeys: Keys;
  /** Where notices to owners come from. */
  readonly noticeTopic: string;
  /** The consumer group that all instances share. */
  readonly group: string;
  readonly replication: number;
  /** Where links in mails lead, without a slash at the end. */
  readonly dashboardUrl: string;
  readonly sender: Sender;
  /** Undefined: there is no mail server. */
  readonly smtp: SmtpConfig | undefined;
  /** Where mails are written if there is no mail server; undefined: they wait. */
  readonly mailFolder: string | undefined;
  /** Between two looks at the rules of a tenant. */
  readonly evaluateEveryMs: number;
  /** Between two looks at the keys that expire. */
  readonly sweepKeysEveryMs: number;
}

const evaluateEveryMs = 10_000;
const sweepKeysEveryMs = 3_600_000;

export function readAlertsConfig(settings: Settings): AlertsConfig {
  requireSettings(settings, 'ENCRYPTION_KEY');
  const ring = orSettingsError(() => readKeyRing(settings.ENCRYPTION_KEY, settings.ENCRYPTION_KEY_PREVIOUS));
  const { SMTP_URL: smtpUrl } = settings;
  const smtp = smtpUrl === '' ? undefined : readSmtpUrl(smtpUrl, readCaFile(settings, 'SMTP_CA_FILE'));
  if (smtp) requireSettings(settings, 'MAIL_FROM');
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    mailKeys: ring.derive('mails'),
    unsubscribeKeys: ring.derive('unsubscribe links'),
    noticeTopic: `${settings.KAFKA_PREFIX}.notices.v1`,
    group: `${settings.KAFKA_PREFIX}-alerts`,
    replication: settings.EVENT_REPLICATION,
    dashboardUrl: settings.DASHBOARD_URL ?? `http://127.0.0.1:${settings.DASHBOARD_PORT}`,
    sender: readSender(settings.MAIL_FROM || 'rms <rms@localhost>'),
    smtp,
    mailFolder: settings.MAIL_DIR || undefined,
    evaluateEveryMs,
    sweepKeysEveryMs,
  };
}

/** "Name <address>" or an address alone. Throws {@link SettingsError}. */
function readSender(text: string): Sender {
  const [, name = '', bracketed = ''] = /^([^<>]*)<([^<>]+)>$/.exec(text) ?? [];
  const address = bracketed === '' ? text.trim() : bracketed.trim();
  if (!isMailAddress(address)) throw new SettingsError('MAIL_FROM is neither an e-mail address nor "Name <address>"');
  return { name: name.trim().replace(/^"|"$/g, ''), address };
}
