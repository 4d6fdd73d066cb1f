import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { uiTexts } from '../texts/ui.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

/** Modal dialog. The browser traps the focus and restores it afterwards. */
export function Dialog({
  title,
  children,
  onClose,
  closable = true,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
  /** False if the dialog shows data that would be lost. Then only its own button closes it. */
  readonly closable?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // By default the browser focuses the close button.
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
          <Button variant="plain" className="button-icon" aria-label={uiTexts().close} onClick={onClose}>
            <Icon name="close" />
          </Button>
        ) : null}
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}

/** Footer of a form in a dialog: cancel and submit buttons. */
export function DialogFooter({
  onClose,
  variant = 'main',
  busy,
  disabled = false,
  children,
}: {
  readonly onClose: () => void;
  readonly variant?: 'main' | 'danger';
  readonly busy: boolean;
  readonly disabled?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <div className="row row-end">
      <Button onClick={onClose}>{uiTexts().cancel}</Button>
      <Button type="submit" variant={variant} busy={busy} disabled={disabled}>
        {children}
      </Button>
    </div>
  );
}
