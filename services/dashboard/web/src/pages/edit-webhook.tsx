import { useState } from 'react';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { ApiError } from '../api/client.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
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
  const about = (field: string) => (update.error instanceof ApiError ? update.error.about(field) : undefined);
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
          wrong={about('url')}
          required
        />
        <EventChoice chosen={events} onChange={setEvents} wrong={about('events')} />
        <Choice
          type="checkbox"
          label="Keep the order of each resource's events"
          hint="One delivery of a resource at a time: a failing one holds back those after it."
          checked={ordered}
          onChange={() => setOrdered(!ordered)}
        />
        <ErrorNote error={update.error} fields={['url', 'events']} />
        <div className="row row-end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" busy={update.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
