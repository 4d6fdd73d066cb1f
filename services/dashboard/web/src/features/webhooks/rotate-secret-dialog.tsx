import type { RotatedSecret, Webhook } from '@rms/api';
import { type One, useTenantChange } from '../../api/tenant.ts';
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
  readonly of: Webhook;
  readonly onClose: () => void;
  readonly onCreated: (created: RotatedSecret) => void;
}) {
  const rotate = useTenantChange<One<RotatedSecret>>(({ data }) => onCreated(data));
  return (
    <Dialog title="Rotate signing secret" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const overlap = Number(new FormData(event.currentTarget).get('overlap'));
          rotate.mutate({ method: 'POST', path: `/webhooks/${webhook.id}/rotate_secret`, body: { overlap } });
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
