import { useState } from 'react';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { aboutField } from '../api/client.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { Choice, TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { toast } from '../ui/toasts.tsx';
import { EventChoice } from './event-choice.tsx';

export function EditWebhookDialog({
  of: webhook,
  onClose,
}: {
  readonly of: WebhookDocument;
  readonly onClose: () => void;
}) {
  const [events, setEvents] = useState<readonly string[]>(webhook.events);
  const [ordered, setOrdered] = useState(webhook.ordered);
  const update = useTenantChange(() => {
    onClose();
    toast('The webhook is changed.');
  });
  return (
    <Dialog title="Edit the webhook" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const url = String(new FormData(event.currentTarget).get('url')).trim();
          update.mutate({ method: 'PATCH', path: `/webhooks/${webhook.id}`, body: { url, events, ordered } });
        }}
      >
        <TextField
          label="Endpoint URL"
          name="url"
          inputMode="url"
          defaultValue={webhook.url}
          wrong={aboutField(update.error, 'url')}
          required
        />
        <EventChoice chosen={events} onChange={setEvents} wrong={aboutField(update.error, 'events')} />
        <Choice
          type="checkbox"
          label="Keep the order of each resource's events"
          hint="One delivery of a resource at a time: a failing one holds back those after it."
          checked={ordered}
          onChange={() => setOrdered(!ordered)}
        />
        <ErrorNote error={update.error} fields={['url', 'events']} />
        <DialogFoot onClose={onClose} busy={update.isPending}>
          Save
        </DialogFoot>
      </form>
    </Dialog>
  );
}
