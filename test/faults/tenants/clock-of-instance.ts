import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The clock of an instance that runs with `env`. */
export interface InstanceClock {
  readonly env: Readonly<Record<string, string>>;
  /** Shifts the clock by `byMs` from the real time. Takes effect within 0.1 s. */
  set(byMs: number): void;
}

/** @param folder Folder of the file that the instance reads its shift from. */
export function clockOfInstance(folder: string): InstanceClock {
  const file = join(folder, 'clock');
  const set = (byMs: number) => writeFileSync(file, `${byMs}`);
  set(0);
  const preloaded = new URL('./jumping-clock.ts', import.meta.url);
  return { env: { NODE_OPTIONS: `--import=${preloaded.href}`, CLOCK_FILE: file }, set };
}
