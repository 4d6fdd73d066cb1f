import type { KeyDocument, NewKeyDocument } from '../../../src/documents/key.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';

const overlaps: readonly (readonly [string, string])[] = [
  ['0', 'Not at all: it ends at once'],
  ['3600', 'For an hour'],
  ['86400', 'For a day'],
  ['604800', 'For a week'],
];

/** A new key takes the place of one that works on for a while. */
export function RollKeyDialog({
  of: key,
  onClose,
  onMade,
}: {
  readonly of: KeyDocument;
  readonly onClose: () => void;
  readonly onMade: (made: NewKeyDocument) => void;
}) {
  const roll = useTenantChange<NewKeyDocument>(onMade);
  return (
    <Dialog title="Roll this key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const overlap = Number(new FormData(event.currentTarget).get('overlap'));
          roll.mutate({ method: 'POST', path: `/keys/${key.id}/roll`, body: { overlap_seconds: overlap } });
        }}
      >
        <p>
          A new key with the same name, scope and addresses is made. The old one works on beside it while its clients
          change over; its page shows who still uses it.
        </p>
        <SelectField label="The old key works on" name="overlap" options={overlaps} defaultValue="86400" />
        <ErrorNote error={roll.error} />
        <DialogFoot onClose={onClose} busy={roll.isPending}>
          Roll key
        </DialogFoot>
      </form>
    </Dialog>
  );
}
