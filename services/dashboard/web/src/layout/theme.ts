import { useSyncExternalStore } from 'react';
import { browserStorage } from '../browser/storage.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'rms-theme';
const listeners = new Set<() => void>();

function readTheme(): Theme {
  const stored = browserStorage.get(key);
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** Applies the theme stored in this browser. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  browserStorage.set(key, theme);
  applyTheme(theme);
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, readTheme);
}
