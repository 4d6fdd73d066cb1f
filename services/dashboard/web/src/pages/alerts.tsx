import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { IncidentDocument, RuleDocument } from '../../../src/documents/alert.ts';
import { useMay, useOptimisticTenantChange, useTenant, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Pager } from '../ui/pager.tsx';
import { Table } from '../ui/table.tsx';
import { spanText, Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { alertKinds } from './alert-kinds.ts';
import { RuleDialog } from './rule-dialog.tsx';

export function AlertsPage() {
  const { environment } = useTenant();
  const mayWrite = useMay('alerts.write');
  const { data, error } = useTenantQuery<{ data: readonly RuleDocument[] }>('/alerts/rules');
  const [editing, setEditing] = useState<RuleDocument>();
  const test = useTenantChange<{ addresses: readonly string[] }>(({ addresses }) =>
    toast(
      addresses.length > 0 ? `A test mail is on its way to ${addresses.join(', ')}.` : 'The rule has no recipients.',
    ),
  );
  const turn = useOptimisticTenantChange<{ data: readonly RuleDocument[] }, RuleDocument>({
    path: '/alerts/rules',
    change: ({ kind, enabled }) => ({ method: 'PATCH', path: `/alerts/rules/${kind}`, body: { enabled: !enabled } }),
    apply: ({ data: shown }, { kind, enabled }) => ({
      data: shown.map((rule) => (rule.kind === kind ? { ...rule, enabled: !enabled } : rule)),
    }),
    undone: 'The rule is as it was.',
  });
  return (
    <>
      <PageHead
        title="Alerts"
        lead={`Mails when something goes wrong in ${environment === 'live' ? 'live' : 'the sandbox'}: one when it begins, one a day while it lasts, one when it is over.`}
      />
      <ErrorNote error={error ?? test.error} />
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
                    <strong>{alertKinds[kind].title}</strong>
                    <p className="soft small">{alertKinds[kind].about}</p>
                  </div>
                ),
              },
              { title: 'When', cell: whenText },
              { title: 'To', cell: (rule) => <span className="break">{recipientsText(rule)}</span> },
              {
                title: 'State',
                cell: ({ enabled }) => <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'On' : 'Off'}</Badge>,
              },
              {
                title: '',
                cell: (rule) =>
                  mayWrite ? (
                    <div className="row row-end">
                      <Button
                        small
                        aria-label={`${rule.enabled ? 'Turn off' : 'Turn on'}: ${alertKinds[rule.kind].title}`}
                        onClick={() => turn.mutate(rule)}
                      >
                        {rule.enabled ? 'Turn off' : 'Turn on'}
                      </Button>
                      <Button
                        small
                        aria-label={`Test: ${alertKinds[rule.kind].title}`}
                        onClick={() => test.mutate({ method: 'POST', path: `/alerts/rules/${rule.kind}/test` })}
                      >
                        Test
                      </Button>
                      <Button
                        small
                        aria-label={`Edit: ${alertKinds[rule.kind].title}`}
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

function whenText({ kind, threshold, window_seconds: seconds, minimum }: RuleDocument): string {
  const { threshold: unit, when } = alertKinds[kind];
  const shown = Number((threshold * (unit?.times ?? 1)).toFixed(2)).toLocaleString();
  const within = seconds === null ? '' : ` within ${spanText(seconds)}`;
  return `${when(shown)}${within}${minimum > 0 ? `, of ${minimum} or more` : ''}`;
}

function recipientsText({ recipients, to_owners: toOwners }: RuleDocument): string {
  const all = [...(toOwners ? ['the owners'] : []), ...recipients];
  return all.length > 0 ? all.join(', ') : 'nobody';
}

/** What an alert is about, where that has a page. */
function Subject({ of: { kind, subject_id: id } }: { readonly of: IncidentDocument }) {
  const tenant = useTenant();
  const mayKeys = useMay('keys.read');
  if (id.startsWith('wh_')) {
    return (
      <Link to="/w/$workspace/$environment/webhooks/$id" params={{ ...tenant, id }} className="small">
        See the webhook
      </Link>
    );
  }
  if (kind === 'key_expiry' && mayKeys) {
    return (
      <Link to="/w/$workspace/$environment/settings/keys/$id" params={{ ...tenant, id }} className="small">
        See the key
      </Link>
    );
  }
  return null;
}

const states = { open: ['bad', 'Open'], recovered: ['good', 'Recovered'], ended: ['plain', 'Ended'] } as const;

/** What went wrong, and whether it is over. */
function Incidents() {
  const { cursor } = useSearch({ from: '/w/$workspace/$environment/settings/alerts' });
  const { data, error } = useTenantQuery<{ data: readonly IncidentDocument[]; next: string | null }>(
    '/alerts/incidents',
    { search: { cursor } },
  );
  return (
    <Card title="History" flush>
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading what="the history" rows={3} />}
      {data?.data.length === 0 ? (
        <Empty icon="alerts" title="No alert so far">
          When a rule finds something, it shows here and goes to its recipients. Test a rule to see its mail.
        </Empty>
      ) : null}
      {data && data.data.length > 0 ? (
        <Table
          label="History"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Alert', cell: ({ kind }) => alertKinds[kind].title },
            {
              title: 'What',
              cell: (incident) => (
                <span className="break">
                  {incident.summary} <Subject of={incident} />
                </span>
              ),
            },
            { title: 'State', cell: ({ state }) => <Badge tone={states[state][0]}>{states[state][1]}</Badge> },
            { title: 'Mails', number: true, cell: ({ notices }) => notices },
            { title: 'Began', cell: ({ opened_at: at }) => <Time at={at} /> },
            { title: 'Over', cell: ({ closed_at: at }) => <Time at={at} none="not yet" /> },
          ]}
        />
      ) : null}
      {data ? <Pager next={data.next} /> : null}
    </Card>
  );
}
