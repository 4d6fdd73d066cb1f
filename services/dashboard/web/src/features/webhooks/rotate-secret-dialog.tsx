import type { RotatedSecret, Webhook } from '@rms/api';
import { type One, useTenantChange } from '../../api/tenant.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';

export function RotateSecretDialog({
  of: webhook,
  onClose,
  onCreated,
}: {
  readonly of: Webhook;
  readonly onClose: () => void;
  readonly onCreated: (created: RotatedSecret) => void;
}) {
  const texts = webhookTexts();
  const { none, hour, day, week } = texts.overlaps;
  const overlaps = Object.entries({ 0: none, 3600: hour, 86400: day, 604800: week });
  const rotate = useTenantChange<One<RotatedSecret>>(({ data }) => onCreated(data));
  return (
    <Dialog title={texts.rotateTitle} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const overlap = Number(new FormData(event.currentTarget).get('overlap'));
          rotate.mutate({ method: 'POST', path: `/webhooks/${webhook.id}/rotate_secret`, body: { overlap } });
        }}
      >
        <p>{texts.rotateEffect}</p>
        <SelectField label={texts.overlap} name="overlap" options={overlaps} defaultValue="86400" />
        <ErrorNote error={rotate.error} />
        <DialogFooter onClose={onClose} busy={rotate.isPending}>
          {texts.rotate}
        </DialogFooter>
      </form>
    </Dialog>
  );
}
