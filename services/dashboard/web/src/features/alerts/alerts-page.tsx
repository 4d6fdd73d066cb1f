import { alertRules } from '@rms/base/alert-rules';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { IncidentDocument, RuleDocument, TestEmailDocument } from '../../../../src/documents/alert.ts';
import { useMay, useOptimisticTenantChange, useTenant, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { durationText } from '../../ui/duration.ts';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { type RuleList, rulesPath, useIncidents, useRules } from './alert-queries.ts';
import { RuleDialog } from './rule-dialog.tsx';
import { WaitingEmails } from './waiting-emails.tsx';

export function AlertsPage() {
  const { environment } = useTenant();
  const mayWrite = useMay('alerts:write');
  const { data, error } = useRules();
  const [editing, setEditing] = useState<RuleDocument>();
  const test = useTenantChange<TestResult>((result) => toast(testText(result)));
  const toggle = useOptimisticTenantChange<RuleList, RuleDocument>({
    path: rulesPath,
    change: ({ kind, enabled }) => ({ method: 'PATCH', path: `/alerts/rules/${kind}`, body: { enabled: !enabled } }),
    apply: ({ data: shown }, { kind, enabled }) => ({
      data: shown.map((rule) => (rule.kind === kind ? { ...rule, enabled: !enabled } : rule)),
    }),
    failureMessage: 'The rule was not changed.',
  });
  return (
    <>
      <PageHeader
        title="Alerts"
        lead={`Email alerts for ${environment === 'live' ? 'live' : 'the sandbox'}: one when a problem starts, one per day while it lasts, one when it ends.`}
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
                        onClick={() => test.mutate({ method: 'POST', path: `/alerts/rules/${rule.kind}/test` })}
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
          <Loading what="rules" rows={9} />
        )}
      </Card>
      <Incidents />
      {editing ? <RuleDialog of={editing} onClose={() => setEditing(undefined)} /> : null}
    </>
  );
}

interface TestResult {
  readonly addresses: readonly string[];
  readonly emails: readonly TestEmailDocument[];
}

function testText({ addresses, emails }: TestResult): string {
  if (addresses.length === 0) return 'The rule has no recipients.';
  const failed = emails.find(({ state }) => state !== 'sent');
  if (failed)
    return `Test email to ${failed.address} not sent yet: ${failed.reply ?? 'no reply of the mail server yet'}`;
  return `Test email ${emails.length > 0 ? 'sent to' : 'queued for'} ${addresses.join(', ')}.`;
}

function whenText({ kind, threshold, window_seconds: seconds, minimum }: RuleDocument): string {
  const { threshold: unit, when } = alertRules[kind];
  const shown = Number((threshold * (unit?.times ?? 1)).toFixed(2)).toLocaleString();
  const within = seconds === null ? '' : ` within ${durationText(seconds)}`;
  return `${when(shown)}${within}${minimum > 0 ? `, at least ${minimum} in total` : ''}`;
}

function recipientsText({ recipients, to_owners: toOwners }: RuleDocument): string {
  const all = [...(toOwners ? ['workspace owners'] : []), ...recipients];
  return all.length > 0 ? all.join(', ') : 'none';
}

/** Link to the subject of an incident, if it has a page. */
function Subject({ of: { kind, subject_id: id } }: { readonly of: IncidentDocument }) {
  const tenant = useTenant();
  const mayKeys = useMay('keys:read');
  if (id.startsWith('wh_')) {
    return (
      <Link to="/w/$workspace/$environment/webhooks/$id" params={{ ...tenant, id }} className="small">
        View webhook
      </Link>
    );
  }
  if (kind === 'key_expiry' && mayKeys) {
    return (
      <Link to="/w/$workspace/$environment/settings/keys/$id" params={{ ...tenant, id }} className="small">
        View key
      </Link>
    );
  }
  return null;
}

const states = { open: ['bad', 'Open'], recovered: ['good', 'Recovered'], ended: ['plain', 'Ended'] } as const;

/** Card with past and open incidents. */
function Incidents() {
  const { cursor } = useSearch({ from: '/w/$workspace/$environment/settings/alerts' });
  const { data, error } = useIncidents(cursor);
  return (
    <Card title="History" flush>
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading what="the history" rows={3} />}
      {data?.data.length === 0 ? (
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
                  {incident.summary} <Subject of={incident} />
                  {incident.kind !== 'quota' && incident.object ? (
                    <p className="soft small">{incident.object}</p>
                  ) : null}
                </span>
              ),
            },
            { title: 'State', cell: ({ state }) => <Badge tone={states[state][0]}>{states[state][1]}</Badge> },
            { title: 'Emails', number: true, cell: ({ notices }) => notices },
            { title: 'Started', cell: ({ opened_at: at }) => <Time at={at} /> },
            { title: 'Ended', cell: ({ closed_at: at }) => <Time at={at} none="ongoing" /> },
          ]}
        />
      ) : null}
      {data ? <Pager next={data.next} /> : null}
    </Card>
  );
}
