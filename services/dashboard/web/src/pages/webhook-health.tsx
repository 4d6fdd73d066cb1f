import { Link } from '@tanstack/react-router';
import type { HealthWindowDocument, WebhookHealthDocument } from '../../../src/documents/webhook-health.ts';
import { useTenant, useTenantQuery } from '../api/tenant.ts';
import { Badge } from '../ui/badge.tsx';
import { ErrorNote, Loading, Note } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { spanText, Time } from '../ui/time.tsx';

const everyMs = 5_000;
/** As many as the back end counts. */
const mostUnderWay = 1_000;
const errorNames: Readonly<Record<string, string>> = {
  '2xx': 'answered 2xx, but not 200',
  timeout: 'timeout',
  blocked: 'address not allowed',
  connect: 'could not connect',
  proxy: 'egress proxy',
  dns: 'host name not found',
  tls: 'TLS',
  connection: 'connection broke off',
};

/** How attempts at a webhook's endpoint went, and whether it is left alone for a while. */
export function WebhookHealthCard({ id }: { readonly id: string }) {
  const tenant = useTenant();
  const { data, error } = useTenantQuery<WebhookHealthDocument>(`/webhooks/${id}/health`, { everyMs });
  return (
    <Card
      title="Health"
      about="What attempts came to; what is sent again counts as well."
      actions={
        <Link
          to="/w/$workspace/$environment/deliveries"
          params={tenant}
          search={{ webhook: id, status: 'failed' }}
          className="small"
        >
          Those that failed
        </Link>
      }
    >
      <ErrorNote error={error} />
      {data ? (
        <div className="stack">
          <CircuitNote of={data} />
          <Windows of={data} />
        </div>
      ) : error ? null : (
        <Loading what="health" />
      )}
    </Card>
  );
}

function CircuitNote({ of }: { readonly of: WebhookHealthDocument }) {
  const { failing_since: failingSince, open_circuit: open, under_way: underWay } = of;
  const waiting = `${underWay.toLocaleString()}${underWay >= mostUnderWay ? ' or more' : ''}`;
  if (open) {
    return (
      <Note tone="bad">
        <p>
          The circuit is open since <Time at={open.since} />: so many attempts failed in a row that the endpoint is left
          alone but for one now and then. Deliveries under way: {waiting}; they wait, and lose no retry.{' '}
          {open.next_probe_at ? (
            <>
              The next attempt is about <Time at={open.next_probe_at} />.
            </>
          ) : (
            'Nothing waits to be tried: the next event is the next attempt.'
          )}
        </p>
      </Note>
    );
  }
  if (failingSince) {
    return (
      <Note tone="warn">
        <p>
          No delivery has arrived since <Time at={failingSince} />. The circuit is closed. Deliveries under way:{' '}
          {waiting}.
        </p>
      </Note>
    );
  }
  return <p className="soft small">The circuit is closed. Deliveries under way: {waiting}.</p>;
}

function Windows({ of }: { readonly of: WebhookHealthDocument }) {
  const rows = [
    { name: 'Last hour', ...of.last_hour },
    { name: 'Last 24 hours', ...of.last_day },
  ];
  return (
    <Table
      label="Attempts"
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Time', cell: ({ name }) => name },
        { title: 'Success', number: true, cell: rateText },
        { title: 'p50', number: true, cell: ({ p50_ms: ms }) => msText(ms) },
        { title: 'p95', number: true, cell: ({ p95_ms: ms }) => msText(ms) },
        { title: 'Delivered', number: true, cell: ({ delivered }) => delivered.toLocaleString() },
        { title: 'To retry', number: true, cell: ({ retried }) => retried.toLocaleString() },
        { title: 'Failed', number: true, cell: ({ failed }) => failed.toLocaleString() },
        { title: 'What went wrong', cell: errorsText },
      ]}
    />
  );
}

/** A word for lists, and the last hour's figures. */
export function WebhookHealthSummary({ of }: { readonly of: WebhookHealthDocument | null }) {
  if (!of) return null;
  const { last_hour: hour } = of;
  const figures =
    hour.success_rate === null ? 'no attempt in an hour' : `${rateText(hour)} · p95 ${msText(hour.p95_ms)}`;
  return (
    <span className="row">
      {of.open_circuit ? <Badge tone="bad">Circuit open</Badge> : null}
      {of.failing_since && !of.open_circuit ? <Badge tone="warn">Failing</Badge> : null}
      <span className="small">{figures}</span>
    </span>
  );
}

/** Rounded down: 100 % is what has no failure. */
function rateText({ success_rate: rate }: HealthWindowDocument): string {
  return rate === null ? '–' : `${Math.floor(rate * 1000) / 10} %`;
}

function msText(ms: number | null): string {
  return ms === null ? '–' : spanText(ms / 1000);
}

function errorsText({ errors }: HealthWindowDocument): string {
  if (errors.length === 0) return 'nothing';
  return errors.map((one) => `${errorNames[one.class] ?? one.class}: ${one.count.toLocaleString()}`).join(', ');
}
