import { alertRules } from '@rms/base/alert-rules';
import type { Tenant } from '@rms/base/tenant';
import { type EmailContent, oneLine } from '../email/email.ts';
import type { EmailReport } from '../email/email-queries.ts';
import { type Message, renderLayout } from '../email/layout.ts';
import type { Notice } from '../incident/incident.ts';
import type { AlertKind } from '../rule/rule.ts';

/** An incident that an email reports. */
export interface ReportedIncident {
  readonly subjectId: string;
  /** URL of the webhook or name of the key; see rms.alerts.v1.Incident. */
  readonly object?: string;
  readonly summary: string;
  readonly openedAt: Date;
  readonly at: Date;
}

/** Input of an alert email. */
export interface AlertEmail extends Tenant {
  readonly kind: AlertKind;
  readonly notice: Notice | 'test';
  /** At least one. */
  readonly incidents: readonly [ReportedIncident, ...ReportedIncident[]];
  /** Display name. */
  readonly workspaceName: string;
  /** For example "https://dashboard.example.com", without a trailing slash. */
  readonly dashboardUrl: string;
  readonly unsubscribe: Omit<NonNullable<Message['unsubscribe']>, 'label'>;
  /** Email that reported the incidents to the same recipient. */
  readonly report?: EmailReport | undefined;
  /** Incidents that the same email reported and that are still open. */
  readonly remaining?: number;
  /** Query of the requests page that shows an incident's requests. */
  readonly requestsSearch?: string | undefined;
}

const subjectPrefixes = { opened: '', repeated: 'Ongoing: ', recovered: 'Recovered: ', test: 'Test: ' } as const;

/** Rules that report the same problem, and the name of that problem. */
const problems: Readonly<Partial<Record<AlertKind, string>>> = {
  delivery_failure_rate: 'deliveries',
  delivery_failures_in_a_row: 'deliveries',
};

/** Returns the email thread about a subject's problem. Two rules that report it share the thread. */
export function threadOf(kind: AlertKind, { subjectId }: Pick<ReportedIncident, 'subjectId'>): string {
  return `${problems[kind] ?? kind} ${subjectId}`;
}

type Titled = Pick<ReportedIncident, 'subjectId' | 'object'>;

/** Returns the title of a message that reports incidents: the problem and its object, or the number of objects. */
export function titleOf(kind: AlertKind, incidents: readonly [Titled, ...Titled[]]): string {
  const [first, ...others] = incidents;
  const { subject } = alertRules[kind];
  return others.length === 0 ? `${subject}${objectText(kind, first)}` : `${subject}: ${countText(kind, incidents)}`;
}

/** Maximum number of incidents that an email lists. */
const maxListed = 50;

/**
 * Returns the content of an email about one or more incidents of a rule. Its subject line shows the object or the
 * number of objects, the workspace and the environment. A later email replies to the report and has its title, even if
 * another rule reported the problem.
 */
export function alertEmail(email: AlertEmail): EmailContent {
  const { kind, notice, environment, workspaceName, incidents, report, remaining = 0 } = email;
  const workspace = `${workspaceName} (${environment})`;
  const { name } = alertRules[kind];
  const [first] = incidents;
  const isOne = incidents.length === 1;
  const isPart = notice === 'recovered' && remaining > 0;
  const title = `${isPart ? 'Partly recovered: ' : subjectPrefixes[notice]}${report?.title ?? titleOf(kind, incidents)}`;
  const all = { label: 'View all alerts', path: () => '/settings/alerts' };
  const action = isOne ? actionOf(email) : all;
  const content = renderLayout({
    subject: `${title} · ${oneLine(workspaceName, 60)} (${environment})`,
    headline: title,
    paragraphs: [
      ...(isOne
        ? [
            ...eventDetails(email, first, workspace),
            `${notice === 'recovered' ? 'Recovered' : 'Detected'} at ${utc(first.at)}${sinceText(notice, first.openedAt)}.`,
          ]
        : listOf(email, workspace)),
      ...(isPart ? [`${remaining} of the reported problems ${remaining === 1 ? 'lasts' : 'last'}.`] : []),
    ],
    mood: notice === 'recovered' ? 'good' : notice === 'test' ? 'plain' : 'bad',
    action: { label: action.label, url: `${tenantUrl(email)}${action.path(first.subjectId)}` },
    footer: [
      `You receive this email because you are a recipient of the alert rule “${name}” of ${workspace}. ` +
        `Manage rules and recipients: ${tenantUrl(email)}/settings/alerts`,
    ],
    unsubscribe: { label: 'Unsubscribe from this rule', ...email.unsubscribe },
  });
  return report ? { ...content, inReplyTo: report.id } : content;
}

/** Returns the number of objects: "12 webhooks". */
function countText(kind: AlertKind, incidents: readonly unknown[]): string {
  const noun = kind === 'key_expiry' ? 'API keys' : isAboutWebhook(kind) ? 'webhooks' : 'incidents';
  return `${incidents.length} ${noun}`;
}

/** Returns one paragraph per incident, up to `maxListed`. */
function listOf(email: AlertEmail, workspace: string): string[] {
  const { notice, incidents } = email;
  const more = incidents.length - maxListed;
  return [
    notice === 'recovered' ? `These problems in ${workspace} are over:` : `In ${workspace}:`,
    ...incidents.slice(0, maxListed).map(({ subjectId, object = '', summary, openedAt, at }) => {
      const id = object === '' ? subjectId : `${object} (${subjectId})`;
      return `${id === '' ? '' : `${id}: `}${summary}, ${utc(at)}${sinceText(notice, openedAt)}.`;
    }),
    ...(more > 0 ? [`And ${more} more.`] : []),
  ];
}

/** Returns ": " and the short form of the object (a URL without its scheme), or an empty string without an object. */
function objectText(
  kind: AlertKind,
  { object = '', subjectId }: Pick<ReportedIncident, 'subjectId' | 'object'>,
): string {
  const name = object.replace(/^https?:\/\//, '') || (kind === 'quota' ? '' : subjectId);
  return name === '' ? '' : `: ${oneLine(name, 60)}`;
}

function eventDetails(
  { kind, notice }: AlertEmail,
  { summary, object = '', subjectId }: ReportedIncident,
  workspace: string,
): string[] {
  if (notice === 'test') {
    return [`This is a test of the alert rule “${alertRules[kind].name}” of ${workspace}. No action is needed.`];
  }
  const happened =
    notice === 'recovered'
      ? `The problem in ${workspace} is over. It was: ${summary}.`
      : `In ${workspace}: ${summary}.`;
  if (subjectId === '' || kind === 'quota') return [happened];
  const id = object === '' ? subjectId : `${object} (${subjectId})`;
  return [happened, `${kind === 'key_expiry' ? 'API key' : 'Webhook'}: ${id}`];
}

/** Returns the base URL of a tenant's dashboard pages. */
function tenantUrl({ dashboardUrl, workspaceId, environment }: AlertEmail): string {
  return `${dashboardUrl}/w/${encodeURIComponent(workspaceId)}/${environment}`;
}

function isAboutWebhook(kind: AlertKind): boolean {
  return kind === 'delivery_failure_rate' || kind === 'delivery_failures_in_a_row' || kind === 'webhook_disabled';
}

function actionOf({ kind, requestsSearch }: AlertEmail): { label: string; path: (subjectId: string) => string } {
  const id = encodeURIComponent;
  if (kind === 'delivery_failure_rate' || kind === 'delivery_failures_in_a_row') {
    // During an outage, most of the failed ones are still retrying.
    const filter = '&status=failed,retrying&test=false';
    return { label: 'View failed deliveries', path: (subjectId) => `/deliveries?webhook=${id(subjectId)}${filter}` };
  }
  if (kind === 'webhook_disabled')
    return { label: 'View the webhook', path: (subjectId) => `/webhooks/${id(subjectId)}` };
  if (kind === 'key_expiry') return { label: 'Roll the key', path: (subjectId) => `/settings/keys/${id(subjectId)}` };
  if (kind === 'quota') return { label: 'View usage and limits', path: () => '/settings/limits' };
  const search = requestsSearch === undefined ? '' : `?${requestsSearch}`;
  return { label: 'View the requests', path: () => `/requests${search}` };
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function sinceText(notice: AlertEmail['notice'], openedAt: Date): string {
  return notice === 'repeated' || notice === 'recovered' ? `; started at ${utc(openedAt)}` : '';
}
