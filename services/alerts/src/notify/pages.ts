import { newId } from '@rms/base/ids';
import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { readChannels } from '../channel/channel-queries.ts';
import { type ChannelReport, type NewChannelMessage, queueChannelMessages } from '../channel/report.ts';
import { countOpen, readIncidents, type StoredIncident } from '../incident/incident-queries.ts';
import { type AlertKind, ruleOf, withDefaults } from '../rule/rule.ts';
import { readRules } from '../rule/rule-queries.ts';

/** A state change that PagerDuty learns, but recipients do not. */
interface Page extends Pick<ChannelReport, 'change' | 'reportId' | 'incidents'> {}

/** Messages to PagerDuty channels outside of notifications: acknowledgements, and the silent end of incidents. */
export interface Pages {
  /** Queues state changes of a rule's incidents. Those that no message has reported are left out. */
  queue(tx: Queryable, rule: Tenant & { readonly kind: AlertKind }, pages: readonly Page[]): Promise<void>;
  /** Queues the end of reports without an open incident. The transaction has ended `incidents` without a notice. */
  queueEnds(tx: Queryable, incidents: readonly StoredIncident[]): Promise<void>;
  /** Starts sending. */
  wake(): void;
}

/** Returns the part of a report about an incident. */
export function reportOf({
  id,
  subjectId,
  object,
  summary,
  openedAtMs,
}: StoredIncident): ChannelReport['incidents'][number] {
  return { id, subjectId, object, summary, openedAt: new Date(openedAtMs).toISOString() };
}

export function createPages(wake: () => void): Pages {
  const queue: Pages['queue'] = async (tx, { kind, ...tenant }, pages) => {
    const reported = pages.filter(({ reportId }) => reportId !== '');
    if (reported.length === 0) return;
    const { workspaceId, environment } = tenant;
    const { channels } = ruleOf(withDefaults(tenant, await readRules(tx, tenant)), kind);
    const ofPagerDuty = (await readChannels(tx, tenant, channels)).filter(({ type }) => type === 'pagerduty');
    const messages = ofPagerDuty.flatMap(({ id: channelId }) =>
      reported.map((page): NewChannelMessage => {
        const report = { ...page, kind, title: '', workspaceName: '' };
        return { workspaceId, environment, id: newId('ntf'), channelId, report };
      }),
    );
    await queueChannelMessages(tx, messages);
  };
  return {
    queue,
    async queueEnds(tx, incidents) {
      const [first] = incidents;
      if (!first) return;
      // As they are now: a notification may have reported them while the transaction waited for their locks.
      const stored = await readIncidents(
        tx,
        first,
        incidents.map(({ id }) => id),
      );
      const reports = new Map([...stored.values()].map((incident) => [incident.reportId, incident]));
      const open = await countOpen(tx, first, [...reports.keys()]);
      for (const [reportId, incident] of reports) {
        if (!open.has(reportId)) await queue(tx, incident, [{ change: 'ended', reportId, incidents: [] }]);
      }
    },
    wake,
  };
}
