import type { Channel } from '../channel/channel.ts';
import { type ChannelReport, maxReported, type NewChannelMessage } from '../channel/report.ts';
import type { Notice } from '../incident/incident.ts';
import type { StoredIncident } from '../incident/incident-queries.ts';
import type { AlertKind } from '../rule/rule.ts';
import { titleOf } from './alert-email.ts';
import type { Notification } from './notification-queries.ts';

/** A group of notifications about a rule, as a channel sees it. */
interface Group {
  /** ID of the first notification, which identifies a new problem's report. */
  readonly id: string;
  readonly notice: Notice;
  readonly kind: AlertKind;
  readonly workspaceName: string;
  /** The notifications, also of muted incidents and those that another rule reports. */
  readonly all: readonly Notification[];
  /** The notifications without them. */
  readonly told: readonly Notification[];
  readonly incidents: ReadonlyMap<string, StoredIncident>;
  /** Number of open incidents of reports that have any. */
  readonly open: ReadonlyMap<string, number>;
}

/**
 * Returns a group's messages to a channel that is not of type email: one; to PagerDuty, one when a report begins and
 * one when none of its incidents is open any more. PagerDuty gets no reminders, and learns the end of muted incidents
 * too, because its own alert would stay open. Silently ended incidents are not reported.
 */
export function messagesTo(channel: Channel, group: Group): NewChannelMessage[] {
  const { id, notice, kind, workspaceName, all, told, incidents, open } = group;
  const { workspaceId, environment, id: channelId } = channel;
  const reportIdOf = ({ incidentId }: Notification) => incidents.get(incidentId)?.reportId ?? '';
  const messageOf = (reportId: string, notifications: readonly Notification[], suffix = ''): NewChannelMessage[] => {
    const [first, ...others] = notifications;
    if (!first) return [];
    const report: ChannelReport = {
      ...{ change: notice, kind, reportId, workspaceName },
      title: titleOf(kind, [first, ...others]),
      incidents: notifications.slice(0, maxReported).map((one) => ({
        id: one.incidentId,
        subjectId: one.subjectId,
        object: one.object,
        summary: one.summary,
        openedAt: one.openedAt.toISOString(),
      })),
    };
    return [{ workspaceId, environment, id: `${id}-${channelId}${suffix}`, channelId, report }];
  };
  if (channel.type !== 'pagerduty' || notice === 'opened') {
    const current = told.filter(({ incidentId }) => incidents.get(incidentId)?.state !== 'ended');
    const [first] = current;
    return first ? messageOf(notice === 'opened' ? id : reportIdOf(first), current) : [];
  }
  if (notice === 'repeated') return [];
  const over = [...new Set(all.map(reportIdOf))].filter((reportId) => reportId !== '' && !open.has(reportId));
  return over.flatMap((reportId, index) =>
    messageOf(
      reportId,
      all.filter((one) => reportIdOf(one) === reportId),
      index === 0 ? '' : `-${index}`,
    ),
  );
}
