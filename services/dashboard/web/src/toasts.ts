import { useSyncExternalStore } from 'react';

export interface Toast {
  readonly id: number;
  readonly text: string;
  /** Error of a failed action. Such a toast stays until it is closed. */
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

export function closeToast(id: number): void {
  change(toasts.filter((shown) => shown.id !== id));
}

/** Shows a message for a few seconds, or with `error` until the user closes it. */
export function toast(text: string, error?: unknown): void {
  const id = ++lastId;
  change([...toasts, { id, text, error }]);
  if (!error) setTimeout(() => closeToast(id), shownMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the messages to show, oldest first. */
export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(subscribe, () => toasts);
}
