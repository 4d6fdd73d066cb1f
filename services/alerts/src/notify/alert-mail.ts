import type { Notice } from '../incident/incident.ts';
import { layOut } from '../mail/layout.ts';
import { type MailContent, oneLine } from '../mail/mail.ts';
import type { AlertKind } from '../rule/rule.ts';
import type { Tenant } from '../tenant.ts';

/** What a mail about an incident is made of. */
export interface AlertMail extends Tenant {
  readonly kind: AlertKind;
  readonly notice: Notice | 'test';
  readonly subjectId: string;
  readonly summary: string;
  readonly openedAt: Date;
  readonly at: Date;
  /** As people know it. */
  readonly workspaceName: string;
  /** "https://dashboard.example.com", without a slash at the end. */
  readonly dashboardUrl: string;
  readonly unsubscribeUrl: string;
}

const titles: Readonly<Record<AlertKind, string>> = {
  api_error_rate: 'API errors',
  delivery_failure_rate: 'Webhook deliveries fail',
  delivery_failures_in_a_row: 'Webhook deliveries fail',
  webhook_disabled: 'A webhook was disabled',
  quota: 'Monthly quota',
  rate_limited: 'Requests are refused by the rate limit',
  key_expiry: 'An API key expires soon',
};

const openings = { opened: '', repeated: 'Still: ', recovered: 'Recovered: ', test: 'Test: ' } as const;

/** A mail to a recipient of a rule. */
export function alertMail(mail: AlertMail): MailContent {
  const { kind, notice, environment, workspaceName, summary, at, openedAt } = mail;
  const place = `${workspaceName} (${environment})`;
  const title = titles[kind];
  return layOut({
    subject: `${openings[notice]}${title} · ${oneLine(workspaceName, 80)} (${environment})`,
    headline: notice === 'recovered' ? `Recovered: ${title}` : `${openings[notice]}${title}`,
    paragraphs: [
      ...whatHappened(mail, place),
      `${notice === 'recovered' ? 'Over' : 'Seen'} at ${utc(at)}${sinceText(notice, openedAt)}.`,
    ],
    mood: notice === 'recovered' ? 'good' : notice === 'test' ? 'plain' : 'bad',
    action: { label: actionOf(kind).label, url: `${tenantUrl(mail)}${actionOf(kind).path(mail.subjectId)}` },
    footer: [
      `You get this because you are a recipient of the rule “${title}” of ${place}. Rules and recipients: ${tenantUrl(mail)}/settings/alerts`,
    ],
    unsubscribe: { label: 'Unsubscribe from this rule', url: mail.unsubscribeUrl },
  });

  function whatHappened({ subjectId }: AlertMail, where: string): string[] {
    if (notice === 'test') return [`This is a test of the rule “${title}” of ${where}: nothing is wrong.`];
    const about = subjectId === '' || kind === 'quota' ? '' : ` (${subjectId})`;
    if (notice === 'recovered') return [`In ${where} all is well again${about}. It was: ${summary}.`];
    return [`In ${where}: ${summary}${about}.`];
  }
}

/** Where a link about a tenant begins. */
function tenantUrl({ dashboardUrl, workspaceId, environment }: AlertMail): string {
  return `${dashboardUrl}/w/${encodeURIComponent(workspaceId)}/${environment}`;
}

function actionOf(kind: AlertKind): { label: string; path: (subjectId: string) => string } {
  const id = encodeURIComponent;
  if (kind === 'delivery_failure_rate' || kind === 'delivery_failures_in_a_row') {
    return { label: 'See failed deliveries', path: (subjectId) => `/deliveries?webhook=${id(subjectId)}` };
  }
  if (kind === 'webhook_disabled')
    return { label: 'See the webhook', path: (subjectId) => `/webhooks/${id(subjectId)}` };
  if (kind === 'key_expiry') return { label: 'Roll the key', path: (subjectId) => `/settings/keys/${id(subjectId)}` };
  if (kind === 'quota' || kind === 'rate_limited')
    return { label: 'See usage and limits', path: () => '/settings/limits' };
  return { label: 'See the overview', path: () => '' };
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function sinceText(notice: AlertMail['notice'], openedAt: Date): string {
  return notice === 'repeated' || notice === 'recovered' ? `; it began at ${utc(openedAt)}` : '';
}
