import { type FormEvent, type ReactNode, useState } from 'react';
import { Dialog, DialogFoot } from './dialog.tsx';
import { TextField } from './field.tsx';
import { ErrorNote } from './notes.tsx';

/** Asks before what cannot be undone; by its name, if it is worth that. */
export function Confirm({
  title,
  children,
  action,
  name,
  busy,
  error,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  readonly children: ReactNode;
  /** What the button says: "Revoke key". */
  readonly action: string;
  /** What has to be typed. */
  readonly name?: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="stack-small">{children}</div>
        {name === undefined ? null : (
          <TextField
            label={`Type ${name} to confirm`}
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
        <ErrorNote error={error} />
        <DialogFoot onClose={onClose} busy={busy} look="danger" disabled={name !== undefined && typed !== name}>
          {action}
        </DialogFoot>
      </form>
    </Dialog>
  );
}
