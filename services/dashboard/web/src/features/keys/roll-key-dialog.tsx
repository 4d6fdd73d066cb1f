import type { Key, NewKey } from '@rms/api';
import { type One, useTenantChange } from '../../api/tenant.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { visibleName } from '../../ui/names.ts';
import { ErrorNote } from '../../ui/notes.tsx';

const overlaps: readonly (readonly [string, string])[] = [
  ['0', 'immediately'],
  ['3600', 'in 1 hour'],
  ['86400', 'in 1 day'],
  ['604800', 'in 1 week'],
];

/** Dialog that replaces a key with a new one. The old key can stay valid for a while. */
export function RollKeyDialog({
  of: key,
  onClose,
  onCreated,
}: {
  readonly of: Key;
  readonly onClose: () => void;
  readonly onCreated: (created: NewKey) => void;
}) {
  const roll = useTenantChange<One<NewKey>>(({ data }) => onCreated(data));
  return (
    <Dialog title={`Roll key ${visibleName(key)}`} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const overlap = Number(new FormData(event.currentTarget).get('overlap'));
          roll.mutate({ method: 'POST', path: `/api_keys/${key.id}/roll`, body: { overlap } });
        }}
      >
        <p>
          Creates a new key with the same name, scope, permissions and allowed addresses. The old key stays valid for a
          while, so that clients can switch. Its page shows which clients still use it.
        </p>
        <SelectField label="Old key expires" name="overlap" options={overlaps} defaultValue="86400" />
        <ErrorNote error={roll.error} />
        <DialogFooter onClose={onClose} busy={roll.isPending}>
          Roll key
        </DialogFooter>
      </form>
    </Dialog>
  );
}
