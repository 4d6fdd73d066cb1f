import type { FullWebhook, HealthWindow } from '@rms/api';
import { Link } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { durationText, shareText } from '../../texts/measures.ts';
import { numberText } from '../../texts/numbers.ts';
import { uiTexts } from '../../texts/ui.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Badge } from '../../ui/badge.tsx';
import { Note } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { failingStatuses } from '../attempts/delivery-status.tsx';

type Health = FullWebhook['health'];

/** Upper bound of the server's count. */
const maxPending = 1_000;

/** Card with attempt statistics and the circuit breaker's state. */
export function WebhookHealthCard({ of: { id, health } }: { readonly of: FullWebhook }) {
  const texts = webhookTexts();
  const tenant = useTenant();
  return (
    <Card
      title={texts.health}
      about={texts.healthAbout}
      actions={
        <Link
          to="/w/$workspace/$environment/deliveries"
          params={tenant}
          search={{ webhook: id, status: failingStatuses, test: 'false' }}
          className="small"
        >
          {texts.viewFailed}
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
  const texts = webhookTexts();
  const { failing_since: failingSince, paused_since: pausedSince, next_attempt_at: nextAt, pending } = of;
  const count = pending >= maxPending ? texts.orMore(pending) : numberText(pending);
  if (pausedSince) {
    return (
      <Note tone="bad">
        <p>
          {texts.circuitOpen(<Time at={pausedSince} />, count)}{' '}
          {nextAt ? texts.nextProbe(<Time at={nextAt} />) : texts.probeOnEvent}
        </p>
      </Note>
    );
  }
  if (failingSince) {
    return (
      <Note tone="warn">
        <p>
          {texts.failingSince(<Time at={failingSince} />, count)} <RateLimitText of={of} />
        </p>
      </Note>
    );
  }
  return (
    <p className="soft small">
      {texts.circuitClosed(count)} <RateLimitText of={of} />
    </p>
  );
}

/** States how many pending deliveries fail when the webhook is disabled or deleted. */
export function PendingFail({ of: webhook }: { readonly of: FullWebhook }) {
  const texts = webhookTexts();
  const { pending } = webhook.health;
  if (pending === 0) return <p>{texts.nonePending}</p>;
  return <p>{pending >= maxPending ? texts.pendingFailOrMore(pending) : texts.pendingFail(pending)}</p>;
}

/** States when the next attempt follows, if the rate limit delays deliveries. */
function RateLimitText({ of }: { readonly of: Health }) {
  if (of.delay_reason !== 'rate_limit') return null;
  return webhookTexts().rateLimited(<Time at={of.next_attempt_at} />);
}

function Windows({ of }: { readonly of: Health }) {
  const texts = webhookTexts();
  const { ranges } = uiTexts();
  const rows = [
    ...(of.last_hour ? [{ name: ranges.hour, ...of.last_hour }] : []),
    ...(of.last_day ? [{ name: ranges.day, ...of.last_day }] : []),
  ];
  return (
    <Table
      label={texts.windows}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: texts.timeRange, cell: ({ name }) => name },
        { title: texts.successful, number: true, cell: rateText },
        { title: texts.p50, number: true, cell: ({ p50_ms: ms }) => msText(ms) },
        { title: texts.p95, number: true, cell: ({ p95_ms: ms }) => msText(ms) },
        { title: texts.delivered, number: true, cell: ({ delivered }) => numberText(delivered) },
        { title: texts.retried, number: true, cell: ({ retried }) => numberText(retried) },
        { title: texts.failed, number: true, cell: ({ failed }) => numberText(failed) },
        { title: texts.canceled, number: true, cell: ({ canceled }) => numberText(canceled) },
        { title: texts.errorColumn, cell: errorsText },
      ]}
    />
  );
}

/** Summary for lists: state and figures of the last hour. */
export function WebhookHealthSummary({ of }: { readonly of: Health }) {
  const texts = webhookTexts();
  const { last_hour: hour } = of;
  const figures = hour?.attempts ? texts.lastHour(rateText(hour), msText(hour.p95_ms)) : texts.noAttempts;
  return (
    <span className="row">
      {of.paused_since ? <Badge tone="bad">{texts.circuitIsOpen}</Badge> : null}
      {of.failing_since && !of.paused_since ? <Badge tone="warn">{texts.failing}</Badge> : null}
      <span className="small">{figures}</span>
    </span>
  );
}

/** Formats the share of successful attempts: "99.1 % of 1,200 attempts". */
function rateText({ delivered, attempts }: HealthWindow): string {
  return attempts === 0 ? '–' : webhookTexts().successRate(shareText(delivered, attempts), attempts);
}

function msText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms / 1000);
}

function errorsText({ errors }: HealthWindow): string {
  if (errors.length === 0) return uiTexts().none;
  const names = webhookTexts().errors;
  return errors.map((one) => `${names[one.class] ?? one.class}: ${numberText(one.count)}`).join(', ');
}
