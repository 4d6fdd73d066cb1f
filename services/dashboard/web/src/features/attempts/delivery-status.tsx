import type { AttemptSummary, Delivery } from '@rms/api';
import { type EndReason, endReasons } from '@rms/base/webhook-events';
import { attemptTexts } from '../../texts/attempts.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const tones: Readonly<Record<Delivery['status'], Tone>> = {
  pending: 'info',
  retrying: 'warn',
  delivered: 'good',
  failed: 'bad',
  skipped: 'plain',
  canceled: 'plain',
};

/** Filter for failing deliveries. Includes `retrying`, because most of them are still retrying during an outage. */
export const failingStatuses = 'failed,retrying';

export function statusOptions(): (readonly [value: string, text: string])[] {
  const { anyStatus, failing, statuses } = attemptTexts();
  return [['', anyStatus], [failingStatuses, failing], ...Object.entries(statuses)];
}

export function DeliveryStatusBadge({ of }: { readonly of: Pick<Delivery, 'status'> }) {
  return <Badge tone={tones[of.status]}>{attemptTexts().statuses[of.status]}</Badge>;
}

/** Formats why a delivery ended: "no retries left". */
export function endText(reason: string): string {
  return endReasons.find((name) => name === reason) ? attemptTexts().ends[reason as EndReason] : reason;
}

/** Status, with the reason if the delivery waits although it is due, or ended without being delivered. */
export function DeliveryState({ of }: { readonly of: Pick<Delivery, 'status' | 'delay_reason' | 'end_reason'> }) {
  const { delay_reason: delay, end_reason: end } = of;
  const reason = delay ? attemptTexts().delays[delay] : end && end !== of.status ? endText(end) : undefined;
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
  return status === null ? attemptTexts().noAttempt : `${status}${rest}`;
}
