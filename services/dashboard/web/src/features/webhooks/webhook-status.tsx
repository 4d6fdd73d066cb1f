import type { Webhook } from '@rms/api';
import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { Badge } from '../../ui/badge.tsx';
import { failingText } from '../rules/limit-texts.ts';

export function WebhookStatusBadge({ of }: { readonly of: Pick<Webhook, 'status'> }) {
  if (of.status === 'active') return <Badge tone="good">Active</Badge>;
  return <Badge tone="warn">{of.status === 'paused' ? 'Paused' : 'Disabled'}</Badge>;
}

/** Returns why a webhook is disabled, as a clause. */
export function reasonText(reason: string | null, limits: LimitsDocument | undefined): string {
  if (reason === 'failing') return failingText(limits);
  return reason === 'gone' ? 'its endpoint responded with 410 Gone' : 'it was disabled manually';
}

export function eventsText(events: readonly string[]): string {
  return events.includes('*') ? 'all events' : events.join(', ');
}
