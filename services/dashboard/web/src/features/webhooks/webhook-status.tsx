import type { WebhookDocument } from '../../../../src/documents/webhook.ts';
import { Badge } from '../../ui/badge.tsx';

const reasons: Readonly<Record<string, string>> = {
  gone: 'its endpoint responded with 410 Gone',
  failing: 'its endpoint failed for days',
  manual: 'it was disabled manually',
};

export function WebhookStatusBadge({ of }: { readonly of: Pick<WebhookDocument, 'status'> }) {
  return of.status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="warn">Disabled</Badge>;
}

/** Returns why a webhook is disabled, as a clause. */
export function reasonText(reason: string | null): string {
  return reasons[reason ?? ''] ?? 'it was disabled manually';
}

export function eventsText(events: readonly string[]): string {
  return events.includes('*') ? 'all events' : events.join(', ');
}
