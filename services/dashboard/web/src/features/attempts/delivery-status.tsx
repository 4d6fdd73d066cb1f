import type { DelayReasonName, DeliveryDocument, DeliveryStatusName } from '../../../../src/documents/delivery.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const states: Readonly<Record<DeliveryStatusName, readonly [Tone, string]>> = {
  pending: ['info', 'Pending'],
  retrying: ['warn', 'Retrying'],
  delivered: ['good', 'Delivered'],
  failed: ['bad', 'Failed'],
  skipped: ['plain', 'Skipped'],
  canceled: ['plain', 'Canceled'],
};

/** Status names with their labels. */
export const deliveryStatuses = Object.entries(states).map(
  ([name, [, text]]) => [name as DeliveryStatusName, text] as const,
);

/** Filter for failing deliveries. Includes `retrying`, because most of them are still retrying during an outage. */
export const failingStatuses = 'failed,retrying';

export const statusOptions: readonly (readonly [string, string])[] = [
  ['', 'Any status'],
  [failingStatuses, 'Failed or retrying'],
  ...deliveryStatuses,
];

export function DeliveryStatusBadge({ of }: { readonly of: Pick<DeliveryDocument, 'status'> }) {
  const [tone, text] = states[of.status];
  return <Badge tone={tone}>{text}</Badge>;
}

const delays: Readonly<Record<DelayReasonName, string>> = { rate_limit: 'rate limit', circuit_open: 'open circuit' };

/** Formats the reason of a delay: "because of the rate limit of the webhook". */
export function delayText(reason: DelayReasonName): string {
  return `because of the ${delays[reason]} of the webhook`;
}

/** Status, with the reason if the delivery waits although it is due. */
export function DeliveryState({ of }: { readonly of: Pick<DeliveryDocument, 'status' | 'delay_reason'> }) {
  return (
    <span className="row">
      <DeliveryStatusBadge of={of} />
      {of.delay_reason ? <span className="small soft">{delays[of.delay_reason]}</span> : null}
    </span>
  );
}

/** Returns the status code, or the error if there was no complete response, or if the status looks like a success. */
export function resultText({ status_code: code, error }: Pick<DeliveryDocument, 'status_code' | 'error'>): string {
  const [, rest = ''] = /^status: \d+(; .*)?$/.exec(error ?? '') ?? [];
  if (error && !error.startsWith('status: ')) return error;
  return code === null ? 'no attempt yet' : `${code}${rest}`;
}
