import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

/** A modal dialog: the browser keeps the focus in it, and gives it back. */
export function Dialog({
  title,
  children,
  onClose,
  closable = true,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
  /** False: it shows something that would be lost; only its own button closes it. */
  readonly closable?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // The browser takes the first button, which closes it.
      dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (closable) onClose();
      }}
    >
      <div className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        {closable ? (
          <Button look="plain" className="button-icon" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </Button>
        ) : null}
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}

/** The end of a form in a dialog: away from it, or on with it. */
export function DialogFoot({
  onClose,
  look = 'main',
  busy,
  disabled = false,
  children,
}: {
  readonly onClose: () => void;
  readonly look?: 'main' | 'danger';
  readonly busy: boolean;
  readonly disabled?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <div className="row row-end">
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look={look} busy={busy} disabled={disabled}>
        {children}
      </Button>
    </div>
  );
}
