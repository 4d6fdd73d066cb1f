import type { NewSecretDocument, WebhookDocument } from '../../../src/documents/webhook.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';

const overlaps: readonly (readonly [string, string])[] = [
  ['0', 'Not at all'],
  ['3600', 'For an hour'],
  ['86400', 'For a day'],
  ['604800', 'For a week'],
];

export function RotateSecretDialog({
  of: webhook,
  onClose,
  onMade,
}: {
  readonly of: WebhookDocument;
  readonly onClose: () => void;
  readonly onMade: (made: NewSecretDocument) => void;
}) {
  const rotate = useTenantChange<NewSecretDocument>(onMade);
  return (
    <Dialog title="Rotate the signing secret" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const overlap = Number(new FormData(event.currentTarget).get('overlap'));
          rotate.mutate({
            method: 'POST',
            path: `/webhooks/${webhook.id}/rotate-secret`,
            body: { overlap_seconds: overlap },
          });
        }}
      >
        <p>
          X-Service-Signature is made with the new secret at once. During the overlap webhook-signature holds a
          signature of each secret, so that an endpoint that reads it can change over without a gap.
        </p>
        <SelectField label="The old secret signs on" name="overlap" options={overlaps} defaultValue="86400" />
        <ErrorNote error={rotate.error} />
        <DialogFoot onClose={onClose} busy={rotate.isPending}>
          Rotate secret
        </DialogFoot>
      </form>
    </Dialog>
  );
}
