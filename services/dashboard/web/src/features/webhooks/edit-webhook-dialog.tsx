import type { Webhook } from '@rms/api';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Choice, TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { webhookUrlHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { EventChoice } from './event-choice.tsx';
import { RateLimitFields, rateLimitFields, rateLimitOf } from './rate-limit.tsx';

export function EditWebhookDialog({ of: webhook, onClose }: { readonly of: Webhook; readonly onClose: () => void }) {
  const [events, setEvents] = useState<readonly string[]>(webhook.events);
  const [ordered, setOrdered] = useState(webhook.ordered);
  const { data: limits } = useLimits();
  const update = useTenantChange(() => {
    onClose();
    toast('Webhook updated.');
  });
  return (
    <Dialog title="Edit webhook" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const url = String(form.get('url')).trim();
          const body = { url, events, ordered, rate_limit: rateLimitOf(form) };
          update.mutate({ method: 'PATCH', path: `/webhooks/${webhook.id}`, body });
        }}
      >
        <TextField
          label="Endpoint URL"
          name="url"
          inputMode="url"
          defaultValue={webhook.url}
          hint={webhookUrlHint(limits)}
          error={fieldError(update.error, 'url')}
          required
        />
        <EventChoice selected={events} onChange={setEvents} error={fieldError(update.error, 'events')} />
        <Choice
          type="checkbox"
          label="Ordered delivery"
          hint="Delivers the events of a resource one at a time, in order. A failing delivery delays later events of that resource."
          checked={ordered}
          onChange={() => setOrdered(!ordered)}
        />
        <RateLimitFields of={webhook.rate_limit} error={update.error} />
        <ErrorNote error={update.error} fields={['url', 'events', ...rateLimitFields]} />
        <DialogFooter onClose={onClose} busy={update.isPending}>
          Save
        </DialogFooter>
      </form>
    </Dialog>
  );
}
