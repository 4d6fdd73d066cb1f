import type { Webhook } from '@rms/api';
import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Badge } from '../../ui/badge.tsx';
import { failingText } from './webhook-limits.ts';

export function WebhookStatusBadge({ of }: { readonly of: Pick<Webhook, 'status'> }) {
  return <Badge tone={of.status === 'active' ? 'good' : 'warn'}>{webhookTexts().statuses[of.status]}</Badge>;
}

/** Returns why a webhook is disabled, as a clause. */
export function reasonText(reason: string | null, limits: LimitsDocument | undefined): string {
  const { gone, manual } = webhookTexts().reasons;
  if (reason === 'failing') return failingText(limits);
  return reason === 'gone' ? gone : manual;
}

export function eventsText(events: readonly string[]): string {
  return events.includes('*') ? webhookTexts().allEvents : events.join(', ');
}
