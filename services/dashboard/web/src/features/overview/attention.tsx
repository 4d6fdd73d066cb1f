import type { Incident, Key, Webhook } from '@rms/api';
import { alertRules } from '@rms/base/alert-rules';
import { Link } from '@tanstack/react-router';
import { useMay, useTenant } from '../../api/tenant.ts';
import { numberText } from '../../texts/numbers.ts';
import { Badge } from '../../ui/badge.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useOpenIncidents } from '../alerts/alert-queries.ts';
import { HandleIncident } from '../alerts/handle-incident.tsx';
import { expiryOf } from '../keys/expiry.ts';
import { useKeys } from '../keys/key-queries.ts';
import { KeyLink } from '../keys/key-status.tsx';
import { ageText } from '../metrics/rates.ts';
import { useWebhooksInState } from '../webhooks/webhook-queries.ts';
import { expiringOf, unhealthyOf } from './problems.ts';

/** Cards about problems: open incidents, endpoints that get no events, keys near their expiry. */
export function Attention() {
  const tenant = useTenant();
  const mayReadAlerts = useMay('alerts:read');
  const mayReadKeys = useMay('keys:read');
  const incidents = useOpenIncidents(mayReadAlerts);
  const [failing, paused] = [useWebhooksInState('failing'), useWebhooksInState('paused')];
  const keys = useKeys({}, mayReadKeys);
  const open = incidents.data?.data ?? [];
  const unhealthy = unhealthyOf([...(failing.data?.data ?? []), ...(paused.data?.data ?? [])]);
  const expiring = expiringOf(keys.data?.data ?? [], Date.now());
  return (
    <>
      <ErrorNote error={incidents.error ?? failing.error ?? paused.error ?? keys.error} />
      {open.length > 0 ? (
        <Card
          title="Open incidents"
          flush
          actions={
            <Link to="/w/$workspace/$environment/settings/alerts" params={tenant} className="small">
              View all
            </Link>
          }
        >
          <OpenIncidents of={open} />
        </Card>
      ) : null}
      {unhealthy.length > 0 ? (
        <Card title="Failing and paused endpoints" flush>
          <Endpoints of={unhealthy} />
        </Card>
      ) : null}
      {expiring.length > 0 ? (
        <Card title="Keys that expire soon" flush>
          <ExpiringKeys of={expiring} />
        </Card>
      ) : null}
    </>
  );
}

function OpenIncidents({ of }: { readonly of: readonly Incident[] }) {
  return (
    <Table
      label="Open incidents"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Alert', cell: ({ kind }) => alertRules[kind].name },
        {
          title: 'Summary',
          cell: ({ summary, subject }) => (
            <span className="break">
              {summary}
              {subject.type !== 'quota' && subject.name ? <p className="soft small">{subject.name}</p> : null}
            </span>
          ),
        },
        { title: 'Started', cell: ({ opened_at: at }) => <Time at={at} /> },
        { title: '', cell: (incident) => <HandleIncident of={incident} /> },
      ]}
    />
  );
}

/** Maximum of the server's count of pending deliveries per webhook. */
const maxPending = 1_000;

function Endpoints({ of }: { readonly of: readonly Webhook[] }) {
  const tenant = useTenant();
  return (
    <Table
      label="Failing and paused endpoints"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Endpoint',
          cell: ({ id, url }) => (
            <Link to="/w/$workspace/$environment/webhooks/$id" params={{ ...tenant, id }} className="main-link break">
              {url}
            </Link>
          ),
        },
        {
          title: 'State',
          cell: ({ health }) =>
            health.state === 'paused' ? <Badge tone="bad">Paused</Badge> : <Badge tone="warn">Failing</Badge>,
        },
        {
          title: 'Pending',
          number: true,
          cell: ({ health: { pending } }) => `${numberText(pending)}${pending >= maxPending ? ' or more' : ''}`,
        },
        {
          title: 'Oldest pending',
          cell: ({ health: { oldest_pending_at: at } }) =>
            at === null ? <span className="soft">none</span> : <span title={at}>{ageText(at, Date.now())}</span>,
        },
        { title: 'Next attempt', cell: ({ health }) => <Time at={health.next_attempt_at} none="–" /> },
      ]}
    />
  );
}

function ExpiringKeys({ of }: { readonly of: readonly Key[] }) {
  return (
    <Table
      label="Keys that expire soon"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Key', cell: (key) => <KeyLink of={key} /> },
        { title: 'Expires', cell: (key) => <Time at={expiryOf(key)} /> },
        { title: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} /> },
      ]}
    />
  );
}
