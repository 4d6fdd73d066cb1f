import type { FullWebhook, HealthWindow } from '@rms/api';
import { Link } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { Badge } from '../../ui/badge.tsx';
import { countText } from '../../ui/count.ts';
import { durationText } from '../../ui/duration.ts';
import { Note } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { delayText, failingStatuses } from '../attempts/delivery-status.tsx';
import { shareText } from '../metrics/rates.ts';

type Health = FullWebhook['health'];

/** Upper bound of the server's count. */
const maxPending = 1_000;
const errorNames: Readonly<Record<string, string>> = {
  '2xx': 'status 2xx; only 200 counts as delivered',
  timeout: 'timeout',
  blocked: 'address not allowed',
  connect: 'could not connect',
  proxy: 'egress proxy',
  dns: 'DNS lookup failed',
  tls: 'TLS',
  connection: 'connection lost',
};

/** Card with attempt statistics and the circuit breaker's state. */
export function WebhookHealthCard({ of: { id, health } }: { readonly of: FullWebhook }) {
  const tenant = useTenant();
  return (
    <Card
      title="Health"
      about="Attempts and ended deliveries, including redeliveries but not test events."
      actions={
        <Link
          to="/w/$workspace/$environment/deliveries"
          params={tenant}
          search={{ webhook: id, status: failingStatuses, test: 'false' }}
          className="small"
        >
          View failed
        </Link>
      }
    >
      <div className="stack">
        <CircuitNote of={health} />
        <Windows of={health} />
      </div>
    </Card>
  );
}

function CircuitNote({ of }: { readonly of: Health }) {
  const { failing_since: failingSince, paused_since: pausedSince, next_attempt_at: nextAt, pending } = of;
  const pendingText = `${pending.toLocaleString()}${pending >= maxPending ? ' or more' : ''}`;
  if (pausedSince) {
    return (
      <Note tone="bad">
        <p>
          The circuit has been open since <Time at={pausedSince} />. After many consecutive failures, the service sends
          only occasional probes. Pending deliveries: {pendingText}. They keep their retries.{' '}
          {nextAt ? (
            <>
              The next probe is due at about <Time at={nextAt} />.
            </>
          ) : (
            'The next event triggers a probe.'
          )}
        </p>
      </Note>
    );
  }
  if (failingSince) {
    return (
      <Note tone="warn">
        <p>
          No delivery has succeeded since <Time at={failingSince} />. The circuit is closed. Pending deliveries:{' '}
          {pendingText}. <RateLimitText of={of} />
        </p>
      </Note>
    );
  }
  return (
    <p className="soft small">
      The circuit is closed. Pending deliveries: {pendingText}. <RateLimitText of={of} />
    </p>
  );
}

/** States how many pending deliveries fail when the webhook is disabled or deleted. */
export function PendingFail({ of: webhook }: { readonly of: FullWebhook }) {
  const { pending } = webhook.health;
  if (pending === 0) return <p>No deliveries are pending.</p>;
  const many = pending >= maxPending ? 'or more pending deliveries fail' : 'pending deliveries fail';
  return <p>{countText(pending, 'pending delivery fails', many)} immediately.</p>;
}

/** States when the next attempt follows, if the rate limit delays deliveries. */
function RateLimitText({ of }: { readonly of: Health }) {
  if (of.delay_reason !== 'rate_limit') return null;
  return (
    <>
      Deliveries wait {delayText(of.delay_reason)}. The next attempt is due at <Time at={of.next_attempt_at} />.
    </>
  );
}

function Windows({ of }: { readonly of: Health }) {
  const rows = [
    ...(of.last_hour ? [{ name: 'Last hour', ...of.last_hour }] : []),
    ...(of.last_day ? [{ name: 'Last 24 hours', ...of.last_day }] : []),
  ];
  return (
    <Table
      label="Attempts and deliveries"
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Time range', cell: ({ name }) => name },
        { title: 'Successful attempts', number: true, cell: rateText },
        { title: 'p50', number: true, cell: ({ p50_ms: ms }) => msText(ms) },
        { title: 'p95', number: true, cell: ({ p95_ms: ms }) => msText(ms) },
        { title: 'Delivered', number: true, cell: ({ delivered }) => delivered.toLocaleString() },
        { title: 'Retried', number: true, cell: ({ retried }) => retried.toLocaleString() },
        { title: 'Failed', number: true, cell: ({ failed }) => failed.toLocaleString() },
        { title: 'Canceled', number: true, cell: ({ canceled }) => canceled.toLocaleString() },
        { title: 'Errors', cell: errorsText },
      ]}
    />
  );
}

/** Summary for lists: state and figures of the last hour. */
export function WebhookHealthSummary({ of }: { readonly of: Health }) {
  const { last_hour: hour } = of;
  const figures = hour?.attempts ? `${rateText(hour)} · p95 ${msText(hour.p95_ms)}` : 'no attempts in the last hour';
  return (
    <span className="row">
      {of.paused_since ? <Badge tone="bad">Circuit open</Badge> : null}
      {of.failing_since && !of.paused_since ? <Badge tone="warn">Failing</Badge> : null}
      <span className="small">{figures}</span>
    </span>
  );
}

/** Formats the share of successful attempts: "99.1 % of 1,200 attempts". */
function rateText({ delivered, attempts }: HealthWindow): string {
  return attempts === 0 ? '–' : `${shareText(delivered, attempts)} of ${countText(attempts, 'attempt', 'attempts')}`;
}

function msText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms / 1000);
}

function errorsText({ errors }: HealthWindow): string {
  if (errors.length === 0) return 'none';
  return errors.map((one) => `${errorNames[one.class] ?? one.class}: ${one.count.toLocaleString()}`).join(', ');
}
