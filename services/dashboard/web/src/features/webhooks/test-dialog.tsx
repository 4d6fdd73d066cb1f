import type { TestAttempt, Webhook } from '@rms/api';
import { receivedTypes, sampleEvent } from '@rms/base/webhook-events';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useTenantChange } from '../../api/tenant.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';

/** Sends a sample event of a type that the webhook receives. */
export function TestDialog({
  of: webhook,
  onClose,
  onTested,
}: {
  readonly of: Webhook;
  readonly onClose: () => void;
  readonly onTested: (test: TestAttempt) => void;
}) {
  const texts = webhookTexts();
  const types = receivedTypes(webhook.events);
  const [chosen, setChosen] = useState<string>(types[0] ?? '');
  const [openedAt] = useState(() => new Date());
  const send = useTenantChange<One<TestAttempt>>(({ data }) => onTested(data));
  const type = types.find((one) => one === chosen);
  return (
    <Dialog title={texts.test} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate({ method: 'POST', path: `/webhooks/${webhook.id}/test`, body: { event_type: chosen } });
        }}
      >
        <p>{texts.testEffect}</p>
        <SelectField
          label={texts.eventType}
          value={chosen}
          options={types.map((one) => [one, one])}
          onChange={(event) => setChosen(event.target.value)}
          error={fieldError(send.error, 'event_type')}
        />
        {type ? (
          <CodeBlock
            label={texts.testBody}
            text={JSON.stringify(sampleEvent(type, { eventId: 'evt_…', resourceId: 'res_…', at: openedAt }), null, 2)}
          />
        ) : null}
        <ErrorNote error={send.error} fields={['event_type']} />
        <DialogFooter onClose={onClose} busy={send.isPending}>
          {texts.test}
        </DialogFooter>
      </form>
    </Dialog>
  );
}
