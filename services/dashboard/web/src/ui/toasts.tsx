import { useSyncExternalStore } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { ErrorNote } from './notes.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  /** Why it could not be done; such a message stays until it is closed. */
  readonly error: unknown;
}

const shownMs = 5_000;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function close(id: number): void {
  change(toasts.filter((shown) => shown.id !== id));
}

/** Says for some seconds that something has been done; or, with an error, that and why it has not. */
export function toast(text: string, error?: unknown): void {
  const id = ++lastId;
  change([...toasts, { id, text, error }]);
  if (!error) setTimeout(() => close(id), shownMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <>
      <div className="toasts" role="status">
        {shown
          .filter(({ error }) => !error)
          .map(({ id, text }) => (
            <div className="toast" key={id}>
              {text}
            </div>
          ))}
      </div>
      <div className="toasts toasts-bad">
        {shown
          .filter(({ error }) => error)
          .map(({ id, text, error }) => (
            <div className="toast-bad" key={id}>
              <div className="row">
                <strong>{text}</strong>
                <Button look="plain" className="button-icon" aria-label="Close the message" onClick={() => close(id)}>
                  <Icon name="close" />
                </Button>
              </div>
              <ErrorNote error={error} />
            </div>
          ))}
      </div>
    </>
  );
}
