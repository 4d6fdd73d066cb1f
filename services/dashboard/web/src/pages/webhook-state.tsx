import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { Badge } from '../ui/badge.tsx';

const reasons: Readonly<Record<string, string>> = {
  gone: 'its endpoint answered 410 Gone',
  failing: 'its endpoint failed for days',
  manual: 'somebody disabled it',
};

export function WebhookStateBadge({ of }: { readonly of: Pick<WebhookDocument, 'status'> }) {
  return of.status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="warn">Disabled</Badge>;
}

/** Why a webhook is disabled, as the end of a sentence. */
export function reasonText(reason: string | null): string {
  return reasons[reason ?? ''] ?? 'somebody disabled it';
}

export function eventsText(events: readonly string[]): string {
  return events.includes('*') ? 'all events' : events.join(', ');
}
