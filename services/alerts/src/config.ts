import { hostname } from 'node:os';
import type { Keys } from '@rms/base/secrets';
import { type EgressConfig, readEgressConfig } from '@rms/net/guarded-http';
import type { MetricsAddress } from '@rms/runtime/service';
import {
  type Followed,
  followCaFile,
  followSecret,
  readEncryptionKeys,
  requireSettings,
  type Settings,
  SettingsError,
} from '@rms/runtime/settings';
import type { Sender } from './email/compose.ts';
import { defaultEhloName } from './email/ehlo-name.ts';
import { readSmtpUrl, type SmtpConfig } from './email/smtp.ts';
import { isEmailAddress } from './rule/rule.ts';

export interface AlertsConfig {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** If undefined, no metrics are served. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Keys that encrypt queued emails, secrets of channels and stored responses. */
  readonly encryptionKeys: Keys;
  /** Keys that authenticate unsubscribe and confirmation links. */
  readonly unsubscribeKeys: Keys;
  /** Keys that authenticate page tokens. */
  readonly pageTokenKeys: Keys;
  /** Kafka topic of notices for workspace owners. */
  readonly noticeTopic: string;
  /** Consumer group that all instances share. */
  readonly group: string;
  readonly replication: number;
  /** Base URL of links in emails, without a trailing slash. */
  readonly dashboardUrl: string;
  readonly sender: Sender;
  /** undefined if no SMTP server is configured. */
  readonly smtp: Followed<SmtpConfig> | undefined;
  /** Folder for emails if there is no SMTP server. If undefined, they stay queued. */
  readonly emailFolder: string | undefined;
  /** Destinations that channels may call, and the route to them: the rules of webhooks. */
  readonly egress: EgressConfig;
  /** URL of the Events API of PagerDuty. */
  readonly pagerDutyUrl: string;
  /** Interval between evaluations of a tenant's rules. */
  readonly evaluateEveryMs: number;
  /** Interval between scans for expiring keys. */
  readonly sweepKeysEveryMs: number;
  /** Interval between reads of due notifications and messages, while there are any. */
  readonly pollMs: number;
  /** Delay of the first notification of a rule. Those that follow within it are in the same email. */
  readonly gatherMs: number;
}

const evaluateEveryMs = 10_000;
const gatherMs = 60_000;
const pollMs = 2_000;
const sweepKeysEveryMs = 3_600_000;

export function readAlertsConfig(settings: Settings): AlertsConfig {
  const keys = readEncryptionKeys(settings);
  if (settings.SMTP_URL !== '') requireSettings(settings, 'EMAIL_FROM');
  const sender = readSender(settings.EMAIL_FROM || 'rms <rms@localhost>');
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    encryptionKeys: keys.derive('mails'),
    unsubscribeKeys: keys.derive('unsubscribe links'),
    pageTokenKeys: keys.derive('alerts page tokens'),
    noticeTopic: `${settings.KAFKA_PREFIX}.notices.v1`,
    group: `${settings.KAFKA_PREFIX}-alerts`,
    replication: settings.EVENT_REPLICATION,
    dashboardUrl: settings.DASHBOARD_URL ?? `http://127.0.0.1:${settings.DASHBOARD_PORT}`,
    sender,
    smtp: followSmtp(settings, sender),
    emailFolder: settings.EMAIL_DIR || undefined,
    egress: readEgressConfig(settings),
    pagerDutyUrl: settings.PAGERDUTY_EVENTS_URL,
    evaluateEveryMs,
    sweepKeysEveryMs,
    pollMs,
    gatherMs,
  };
}

function followSmtp(settings: Settings, sender: Sender): Followed<SmtpConfig> | undefined {
  const { SMTP_URL: first, SMTP_TLS: tls, SMTP_EHLO_NAME: name } = settings;
  const caFile = followCaFile(settings, 'SMTP_CA_FILE', { refreshMs: 0 });
  if (first === '') return undefined;
  const ehloName = name || defaultEhloName(hostname(), sender.address);
  const read = (url: string, ca: string | undefined) => readSmtpUrl(url, { ca, tls, ehloName });
  const urlFile = followSecret(settings, 'SMTP_URL', { check: (url) => void read(url, undefined) });
  let latest: { url: string; ca: string | undefined; config: SmtpConfig } | undefined;
  const current: Followed<SmtpConfig> = (log) => {
    const [url, ca] = [urlFile(log), caFile?.(log)];
    if (!latest || latest.url !== url || latest.ca !== ca) latest = { url, ca, config: read(url, ca) };
    return latest.config;
  };
  // An invalid URL ends the start.
  read(first, undefined);
  return current;
}

/** Parses "Name <address>" or an address alone. Throws {@link SettingsError}. */
function readSender(text: string): Sender {
  const [, name = '', bracketed = ''] = /^([^<>]*)<([^<>]+)>$/.exec(text) ?? [];
  const address = bracketed === '' ? text.trim() : bracketed.trim();
  if (!isEmailAddress(address)) throw new SettingsError('EMAIL_FROM must be an email address or "Name <address>"');
  return { name: name.trim().replace(/^"|"$/g, ''), address };
}
