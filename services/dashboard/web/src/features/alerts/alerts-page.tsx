import type { AlertRule, AlertRuleTest, Incident } from '@rms/api';
import { alertRules } from '@rms/base/alert-rules';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import {
  cursorOf,
  type List,
  type One,
  useMay,
  useOptimisticTenantChange,
  useTenant,
  useTenantChange,
} from '../../api/tenant.ts';
import { durationText } from '../../texts/measures.ts';
import { numberText } from '../../texts/numbers.ts';
import { toast } from '../../toasts.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { RequestsLink } from '../request-links/requests-link.tsx';
import { rulesPath, useIncidents, useRules } from './alert-queries.ts';
import { ChannelsCard } from './channels-card.tsx';
import { HandleIncident } from './handle-incident.tsx';
import { RuleDialog } from './rule-dialog.tsx';
import { WaitingEmails } from './waiting-emails.tsx';

export function AlertsPage() {
  const { environment } = useTenant();
  const mayWrite = useMay('alerts:write');
  const { data, error } = useRules();
  const [editing, setEditing] = useState<AlertRule>();
  const test = useTenantChange<One<AlertRuleTest>>(({ data }) => toast(testText(data)));
  const toggle = useOptimisticTenantChange<List<AlertRule>, AlertRule>({
    path: rulesPath,
    change: ({ kind, enabled }) => ({ method: 'PUT', path: `${rulesPath}/${kind}`, body: { enabled: !enabled } }),
    apply: ({ data: shown, ...page }, { kind, enabled }) => ({
      ...page,
      data: shown.map((rule) => (rule.kind === kind ? { ...rule, enabled: !enabled } : rule)),
    }),
    failureMessage: 'The rule was not changed.',
  });
  return (
    <>
      <PageHeader
        title="Alerts"
        lead={`Alerts for ${environment === 'live' ? 'live' : 'the sandbox'}: one when a problem starts, one per day while it lasts, one when it ends.`}
      />
      <ErrorNote error={error ?? test.error} />
      <WaitingEmails />
      <Card title="Rules" flush>
        {data ? (
          <Table
            label="Rules"
            rows={data.data}
            keyOf={({ kind }) => kind}
            columns={[
              {
                title: 'Rule',
                cell: ({ kind }) => (
                  <div>
                    <strong>{alertRules[kind].name}</strong>
                    <p className="soft small">{alertRules[kind].sentence}</p>
                  </div>
                ),
              },
              { title: 'Condition', cell: whenText },
              { title: 'Recipients', cell: (rule) => <span className="break">{recipientsText(rule)}</span> },
              {
                title: 'Status',
                cell: ({ enabled }) => (
                  <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'Enabled' : 'Disabled'}</Badge>
                ),
              },
              {
                title: '',
                cell: (rule) =>
                  mayWrite ? (
                    <div className="row row-end">
                      <Button
                        small
                        aria-label={`${rule.enabled ? 'Disable' : 'Enable'} rule: ${alertRules[rule.kind].name}`}
                        onClick={() => toggle.mutate(rule)}
                      >
                        {rule.enabled ? 'Disable' : 'Enable'}
                      </Button>
                      <Button
                        small
                        aria-label={`Test rule: ${alertRules[rule.kind].name}`}
                        onClick={() => test.mutate({ method: 'POST', path: `${rulesPath}/${rule.kind}/test` })}
                      >
                        Test
                      </Button>
                      <Button
                        small
                        aria-label={`Edit rule: ${alertRules[rule.kind].name}`}
                        onClick={() => setEditing(rule)}
                      >
                        Edit
                      </Button>
                    </div>
                  ) : null,
              },
            ]}
          />
        ) : error ? null : (
          <Loading label="Loading rules" rows={9} />
        )}
      </Card>
      <ChannelsCard />
      <Incidents />
      {editing ? <RuleDialog of={editing} onClose={() => setEditing(undefined)} /> : null}
    </>
  );
}

function testText({ addresses, emails }: AlertRuleTest): string {
  if (addresses.length === 0) return 'The rule has no recipients.';
  const failed = emails.find(({ state }) => state !== 'sent');
  if (failed)
    return `Test email to ${failed.address} not sent yet: ${failed.reply ?? 'no reply of the mail server yet'}`;
  return `Test email ${emails.length > 0 ? 'sent to' : 'queued for'} ${addresses.join(', ')}.`;
}

function whenText({ kind, threshold, window: seconds, minimum }: AlertRule): string {
  const { threshold: unit, when } = alertRules[kind];
  const shown = numberText((threshold ?? 0) * (unit?.times ?? 1), { maximumFractionDigits: 2 });
  const within = seconds === null ? '' : ` within ${durationText(seconds)}`;
  return `${when(shown)}${within}${minimum !== null ? `, at least ${minimum} in total` : ''}`;
}

function recipientsText({ recipients, to_owners: toOwners, channels }: AlertRule): string {
  const count = channels.length;
  const inChannels = count === 0 ? [] : [count === 1 ? '1 channel' : `${count} channels`];
  const all = [...(toOwners ? ['workspace owners'] : []), ...recipients, ...inChannels];
  return all.length > 0 ? all.join(', ') : 'none';
}

/** Link to the subject of an incident, if it has a page. */
function Subject({ of: { type, id } }: { readonly of: Incident['subject'] }) {
  const tenant = useTenant();
  const mayKeys = useMay('keys:read');
  if (id === null) return null;
  if (type === 'webhook') {
    return (
      <Link to="/w/$workspace/$environment/webhooks/$id" params={{ ...tenant, id }} className="small">
        View webhook
      </Link>
    );
  }
  if (type === 'api_key' && mayKeys) {
    return (
      <Link to="/w/$workspace/$environment/settings/keys/$id" params={{ ...tenant, id }} className="small">
        View key
      </Link>
    );
  }
  return null;
}

/** Link to the requests of an incident that is about requests. */
function IncidentRequests({ of: { kind, opened_at: since, closed_at: until } }: { readonly of: Incident }) {
  const { data: rules } = useRules();
  if (kind !== 'api_error_rate' && kind !== 'rate_limited') return null;
  const windowSeconds = rules?.data.find((rule) => rule.kind === kind)?.window ?? 0;
  // The evaluation counts a minute that is partly inside the window completely.
  const from = new Date(Date.parse(since) - windowSeconds * 1000 - 60_000).toISOString();
  const search = { since: from, ...(until ? { until } : {}), ...(kind === 'rate_limited' ? { status: '429' } : {}) };
  return <RequestsLink of={search}>View requests</RequestsLink>;
}

/** Color and label of an incident: of the reason of its end, or "open". */
const states = { open: ['bad', 'Open'], recovered: ['good', 'Recovered'], obsolete: ['plain', 'Ended'] } as const;

function StateBadge({ end_reason: reason }: Incident) {
  const [tone, label] = states[reason ?? 'open'];
  return <Badge tone={tone}>{label}</Badge>;
}

const from = '/w/$workspace/$environment/settings/alerts';
const statusOptions = [
  ['', 'Any status'],
  ['open', 'Open'],
  ['closed', 'Closed'],
] as const;

/** Card with past and open incidents. */
function Incidents() {
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const { data, error } = useIncidents(search);
  return (
    <Card
      title="History"
      actions={
        <SelectField
          label="Status"
          value={search.status ?? ''}
          options={statusOptions}
          onChange={({ target: { value: status } }) =>
            void navigate({ search: status ? { status } : {}, replace: true })
          }
        />
      }
      flush
    >
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading label="Loading the history" rows={3} />}
      {data?.data.length === 0 && search.status ? (
        <Empty icon="alerts" title={`No ${search.status} incidents`}>
          Change the filter.
        </Empty>
      ) : data?.data.length === 0 ? (
        <Empty icon="alerts" title="No incidents yet">
          Incidents appear here and are emailed to the recipients of the rule. Test a rule to see its email.
        </Empty>
      ) : null}
      {data && data.data.length > 0 ? (
        <Table
          label="History"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Alert', cell: ({ kind }) => alertRules[kind].name },
            {
              title: 'Summary',
              cell: (incident) => (
                <span className="break">
                  {incident.summary} <Subject of={incident.subject} /> <IncidentRequests of={incident} />
                  {incident.subject.type !== 'quota' && incident.subject.name ? (
                    <p className="soft small">{incident.subject.name}</p>
                  ) : null}
                  <HandleIncident of={incident} />
                </span>
              ),
            },
            { title: 'State', cell: StateBadge },
            { title: 'Emails', number: true, cell: ({ notice_count: count }) => count },
            { title: 'Started', cell: ({ opened_at: at }) => <Time at={at} /> },
            { title: 'Ended', cell: ({ closed_at: at }) => <Time at={at} none="ongoing" /> },
          ]}
        />
      ) : null}
      {data ? <Pager next={cursorOf(data.links.next)} previous={cursorOf(data.links.prev)} /> : null}
    </Card>
  );
}
