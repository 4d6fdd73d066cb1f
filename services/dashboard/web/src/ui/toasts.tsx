import { useSyncExternalStore } from 'react';

interface Toast {
  readonly id: number;
  readonly text: string;
}

const shownMs = 5_000;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Says for some seconds that something has been done. */
export function toast(text: string): void {
  const id = ++lastId;
  change([...toasts, { id, text }]);
  setTimeout(() => change(toasts.filter((shown) => shown.id !== id)), shownMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status">
      {shown.map(({ id, text }) => (
        <div className="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
}
