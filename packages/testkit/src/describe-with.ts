import { accessSync, constants } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';
import { canMountDisk } from './servers/small-disk.ts';
import { testGlobals } from './test-globals.ts';
import { type RunProgram, type RunServer, request } from './test-run.ts';

/**
 * A server, program or permission that a suite requires in addition to PostgreSQL; small-disk: permission to mount a
 * file system; ipv6: the address ::1.
 */
export type Need = Exclude<RunServer, 'postgres'> | RunProgram | 'small-disk' | 'ipv6';

/**
 * Declares a suite that requires more than PostgreSQL: a server shared by the test run, or programs for servers that it
 * starts itself. Skips the suite if one of them is unavailable; the last lines of `npm test` then name it and the
 * remedy.
 */
export function describeWith(needs: Need | readonly Need[], name: string, suite: () => void): void {
  const { describe } = testGlobals();
  const missing = (typeof needs === 'string' ? [needs] : needs).filter((need) => !isAvailable(need));
  if (missing.length === 0) describe(name, suite);
  else describe.skip(`${name} [needs ${missing.join(', ')}]`, suite);
}

function isAvailable(need: Need): boolean {
  if (need === 'small-disk') return canMountDisk();
  if (need === 'ipv6') return hasIpv6();
  return request(need) !== undefined;
}

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
}

/** Path of the browser: CHROME_PATH, or the system's Chromium; undefined if neither exists. */
export function chromiumPath(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return process.env.CHROME_PATH || names.map(pathOf).find((path) => path !== undefined);
}

function pathOf(program: string): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
