import type { DeliveryDocument, DeliveryStatusName } from '../../../src/documents/delivery.ts';
import { Badge, type Tone } from '../ui/badge.tsx';

const states: Readonly<Record<DeliveryStatusName, readonly [Tone, string]>> = {
  pending: ['info', 'Pending'],
  retrying: ['warn', 'Retrying'],
  delivered: ['good', 'Delivered'],
  failed: ['bad', 'Failed'],
  skipped: ['plain', 'Skipped'],
};

export const statusOptions: readonly (readonly [string, string])[] = [
  ['', 'Any status'],
  ...Object.entries(states).map(([name, [, text]]) => [name, text] as const),
];

export function DeliveryStateBadge({ of }: { readonly of: Pick<DeliveryDocument, 'status'> }) {
  const [tone, text] = states[of.status];
  return <Badge tone={tone}>{text}</Badge>;
}

/** "200", or why there was no such answer. */
export function answerText({ status_code: code, error }: Pick<DeliveryDocument, 'status_code' | 'error'>): string {
  if (code !== null) return String(code);
  return error ?? 'no attempt yet';
}
