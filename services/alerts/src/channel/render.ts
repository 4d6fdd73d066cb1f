import { severityOf } from '@rms/base/alert-rules';
import { deliveryHeaders, toSigningSecret } from '@rms/base/signature';
import type { Tenant } from '@rms/base/tenant';
import { oneLine } from '../email/email.ts';
import type { ChannelType } from './channel.ts';
import type { ChannelReport } from './report.ts';

/** A request to a channel's receiver. */
interface ChannelRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A message and the decrypted settings of its channel. */
export interface Rendered extends Tenant {
  readonly messageId: string;
  readonly report: ChannelReport;
  /** URL of a webhook. */
  readonly url: string;
  readonly secret: string;
  /** URL of the Events API of PagerDuty. */
  readonly pagerDutyUrl: string;
  /** Base URL of links, without a trailing slash. */
  readonly dashboardUrl: string;
  readonly now: Date;
}

/** Returns the request with a message to a channel of a type. */
export const renderers: Readonly<Record<Exclude<ChannelType, 'email'>, (message: Rendered) => ChannelRequest>> = {
  pagerduty(message) {
    const { report, secret, pagerDutyUrl, now } = message;
    const { change, reportId, title, kind, incidents } = report;
    const first = incidents[0];
    const action = change === 'acknowledged' ? 'acknowledge' : isEnd(change) ? 'resolve' : 'trigger';
    return json(pagerDutyUrl, {
      routing_key: secret,
      event_action: action,
      dedup_key: reportId,
      ...(action === 'trigger'
        ? {
            payload: {
              summary: oneLine(`${title} · ${placeOf(message)}`, 1_024),
              source: oneLine(first?.object || first?.subjectId || message.environment, 255),
              severity: change === 'test' ? 'info' : severityOf(kind, first?.subjectId ?? ''),
              timestamp: first?.openedAt ?? now.toISOString(),
              group: message.environment,
              class: kind,
              custom_details: { incidents: incidents.map(lineOf) },
            },
            client: 'rms',
            client_url: pageOf(message),
          }
        : {}),
    });
  },
  slack(message) {
    const { report, secret } = message;
    const text = `${titleOf(report)} · ${placeOf(message)}`;
    const lines = report.incidents.map((incident) => `• ${escapeSlack(lineOf(incident))}`);
    return json(secret, {
      text: escapeSlack(oneLine(text, 500)),
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: oneLine(text, 150) } },
        ...sectionsOf(lines).map((part) => ({ type: 'section', text: { type: 'mrkdwn', text: part } })),
        { type: 'context', elements: [{ type: 'mrkdwn', text: `<${pageOf(message)}|View all alerts>` }] },
      ],
    });
  },
  webhook(message) {
    const { workspaceId, environment, messageId, report, url, secret, now } = message;
    const { change, kind, reportId, incidents } = report;
    const body = Buffer.from(
      JSON.stringify({
        id: messageId,
        type: change === 'test' ? 'alert.test' : `incident.${change}`,
        workspace_id: workspaceId,
        environment,
        data: {
          kind,
          report_id: reportId,
          title: report.title,
          incidents: incidents.map(({ id, subjectId, object, summary, openedAt }) => ({
            id,
            subject: { id: subjectId || null, name: object || null },
            severity: severityOf(kind, subjectId),
            summary,
            opened_at: openedAt,
          })),
        },
      }),
    );
    const secrets = { current: toSigningSecret(secret), previous: undefined };
    const content = { eventId: messageId, requestId: '', traceparent: '', body };
    return { url, body, headers: deliveryHeaders(secrets, content, now.getTime()) };
  },
};

const prefixes: Readonly<Record<ChannelReport['change'], string>> = {
  opened: '',
  repeated: 'Ongoing: ',
  acknowledged: 'Acknowledged: ',
  recovered: 'Recovered: ',
  ended: 'Ended: ',
  test: 'Test: ',
};

function titleOf({ change, title }: ChannelReport): string {
  return prefixes[change] + title;
}

function isEnd(change: ChannelReport['change']): boolean {
  return change === 'recovered' || change === 'ended';
}

function placeOf({ report, environment }: Rendered): string {
  return `${oneLine(report.workspaceName, 60)} (${environment})`;
}

function lineOf({ subjectId, object, summary }: ChannelReport['incidents'][number]): string {
  const subject = object === '' ? subjectId : `${object} (${subjectId})`;
  return oneLine(subject === '' ? summary : `${subject}: ${summary}`, 500);
}

function pageOf({ dashboardUrl, workspaceId, environment }: Rendered): string {
  return `${dashboardUrl}/w/${encodeURIComponent(workspaceId)}/${environment}/settings/alerts`;
}

/** Maximum length of a Slack section's text. */
const sectionLength = 3_000;

/** Joins lines to texts that sections of Slack can hold. */
function sectionsOf(lines: readonly string[]): string[] {
  const sections: string[] = [];
  for (const line of lines) {
    const last = sections.at(-1);
    if (last !== undefined && last.length + 1 + line.length <= sectionLength)
      sections[sections.length - 1] = `${last}\n${line}`;
    else sections.push(line);
  }
  return sections;
}

/** Escapes the control characters of Slack, so that a name cannot contain a link or a mention. */
function escapeSlack(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function json(url: string, document: object): ChannelRequest {
  return {
    url,
    headers: { 'content-type': 'application/json', accept: '*/*', 'user-agent': 'rms-alerts/0.1' },
    body: Buffer.from(JSON.stringify(document)),
  };
}
