import { type FormEvent, type ReactNode, useState } from 'react';
import { uiTexts } from '../texts/ui.ts';
import { Dialog, DialogFooter } from './dialog.tsx';
import { TextField } from './field.tsx';
import { isSameShown, shownText } from './names.ts';
import { ErrorNote } from './notes.tsx';

/** Confirmation dialog. If `name` is set, the user must type it. */
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
  /** Text of the button, e.g. "Revoke key". */
  readonly action: string;
  /** Visible name that the user must type, as it is shown. */
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
            label={uiTexts().typeToConfirm(shownText(name))}
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
        <ErrorNote error={error} />
        <DialogFooter
          onClose={onClose}
          busy={busy}
          variant="danger"
          disabled={name !== undefined && !isSameShown(typed, name)}
        >
          {action}
        </DialogFooter>
      </form>
    </Dialog>
  );
}
