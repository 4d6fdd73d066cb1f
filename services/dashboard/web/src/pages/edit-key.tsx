import type { KeyDocument } from '../../../src/documents/key.ts';
import { aboutField } from '../api/client.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { TextArea, TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { toast } from '../ui/toasts.tsx';
import { linesOf } from './new-key.tsx';

export function EditKeyDialog({ of: key, onClose }: { readonly of: KeyDocument; readonly onClose: () => void }) {
  const update = useTenantChange(() => {
    onClose();
    toast('The key is changed; every gateway knows it.');
  });
  return (
    <Dialog title="Edit the key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const text = (name: string) => String(given.get(name) ?? '').trim();
          update.mutate({
            method: 'PATCH',
            path: `/keys/${key.id}`,
            body: {
              name: text('name'),
              allowed_ips: linesOf(text('allowed_ips')),
              rate_limit_requests: text('rate_limit') === '' ? null : Number(text('rate_limit')),
            },
          });
        }}
      >
        <TextField
          label="Name"
          name="name"
          defaultValue={key.name}
          maxLength={100}
          wrong={aboutField(update.error, 'name')}
          required
        />
        <TextArea
          label="Allowed addresses"
          name="allowed_ips"
          rows={4}
          className="input-code"
          defaultValue={key.allowed_ips.join('\n')}
          hint="Addresses or networks, one a line. Empty: it works from anywhere."
          wrong={aboutField(update.error, 'allowed_ips') ?? aboutField(update.error, 'allowed_ips.0')}
        />
        <TextField
          label="Requests in a window"
          name="rate_limit"
          type="number"
          min={0}
          defaultValue={key.rate_limit_requests ?? ''}
          hint="Empty: as the plan says. 0: no limit."
        />
        <ErrorNote error={update.error} fields={['name', 'allowed_ips', 'allowed_ips.0']} />
        <DialogFoot onClose={onClose} busy={update.isPending}>
          Save
        </DialogFoot>
      </form>
    </Dialog>
  );
}
