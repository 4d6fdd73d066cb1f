import type { AttemptSummary, Delivery } from '@rms/api';
import { type EndReason, endReasons } from '@rms/base/webhook-events';
import { Badge, type Tone } from '../../ui/badge.tsx';

const states: Readonly<Record<Delivery['status'], readonly [Tone, string]>> = {
  pending: ['info', 'Pending'],
  retrying: ['warn', 'Retrying'],
  delivered: ['good', 'Delivered'],
  failed: ['bad', 'Failed'],
  skipped: ['plain', 'Skipped'],
  canceled: ['plain', 'Canceled'],
};

/** Status names with their labels. */
export const deliveryStatuses = Object.entries(states).map(
  ([name, [, text]]) => [name as Delivery['status'], text] as const,
);

/** Filter for failing deliveries. Includes `retrying`, because most of them are still retrying during an outage. */
export const failingStatuses = 'failed,retrying';

export const statusOptions: readonly (readonly [string, string])[] = [
  ['', 'Any status'],
  [failingStatuses, 'Failed or retrying'],
  ...deliveryStatuses,
];

export function DeliveryStatusBadge({ of }: { readonly of: Pick<Delivery, 'status'> }) {
  const [tone, text] = states[of.status];
  return <Badge tone={tone}>{text}</Badge>;
}

type DelayReason = NonNullable<Delivery['delay_reason']>;

const delays: Readonly<Record<DelayReason, string>> = {
  rate_limit: 'rate limit',
  circuit_open: 'open circuit',
  paused: 'paused',
};

/** Formats a delay's reason: "because of the rate limit of the webhook". */
export function delayText(reason: DelayReason): string {
  return `because of the ${delays[reason]} of the webhook`;
}

const ends: Readonly<Record<EndReason, string>> = {
  retries_exhausted: 'no retries left',
  endpoint_gone: 'endpoint gone (410)',
  webhook_disabled: 'webhook disabled',
  webhook_deleted: 'webhook deleted',
  expired: 'retention reached',
  event_erased: 'event erased',
  canceled: 'canceled by a user or a key',
};

/** Formats why a delivery ended: "no retries left". */
export function endText(reason: string): string {
  return endReasons.find((name) => name === reason) ? ends[reason as EndReason] : reason;
}

/** Status, with the reason if the delivery waits although it is due, or ended without being delivered. */
export function DeliveryState({ of }: { readonly of: Pick<Delivery, 'status' | 'delay_reason' | 'end_reason'> }) {
  const { delay_reason: delay, end_reason: end } = of;
  const reason = delay ? delays[delay] : end && end !== of.status ? endText(end) : undefined;
  return (
    <span className="row">
      <DeliveryStatusBadge of={of} />
      {reason ? <span className="small soft">{reason}</span> : null}
    </span>
  );
}

/** Returns the status code, or the error if there was no complete response, or if the status looks like a success. */
export function resultText(attempt: Pick<AttemptSummary, 'status' | 'error'> | null): string {
  const { status, error } = attempt ?? { status: null, error: null };
  const [, rest = ''] = /^status: \d+(; .*)?$/.exec(error ?? '') ?? [];
  if (error && !error.startsWith('status: ')) return error;
  return status === null ? 'no attempt yet' : `${status}${rest}`;
}
