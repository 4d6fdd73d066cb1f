import type { NewSecretDocument, WebhookDocument } from '../../../../src/documents/webhook.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';

const overlaps: readonly (readonly [string, string])[] = [
  ['0', 'None'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '1 week'],
];

export function RotateSecretDialog({
  of: webhook,
  onClose,
  onCreated,
}: {
  readonly of: WebhookDocument;
  readonly onClose: () => void;
  readonly onCreated: (created: NewSecretDocument) => void;
}) {
  const rotate = useTenantChange<NewSecretDocument>(onCreated);
  return (
    <Dialog title="Rotate signing secret" onClose={onClose}>
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
          X-Service-Signature uses the new secret immediately. During the overlap, webhook-signature contains one
          signature per secret, so that endpoints that check it can switch without failures.
        </p>
        <SelectField label="Overlap" name="overlap" options={overlaps} defaultValue="86400" />
        <ErrorNote error={rotate.error} />
        <DialogFooter onClose={onClose} busy={rotate.isPending}>
          Rotate secret
        </DialogFooter>
      </form>
    </Dialog>
  );
}
