import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { canMountDisk } from './servers/small-disk.ts';

/** Servers of the whole test run, and the variable that says where each is. */
const variables = { redis: 'TEST_REDIS_URL', kafka: 'TEST_KAFKA_BROKERS' };

/** Programs that a suite starts itself, by startRedis() and startKafka(). */
const programs = { 'redis-server': ['redis-server'], java: ['java', 'mvn'] };

export type TestServer = keyof typeof variables;

/** What a suite may need beside PostgreSQL; small-disk: the right to mount a disk of its own. */
export type Need = TestServer | keyof typeof programs | 'small-disk' | 'chromium';

/** The part of jest that is needed; this file is also loaded where there is no jest, by the benchmarks. */
type Describe = { (name: string, suite: () => void): void; skip(name: string, suite: () => void): void };

/** The address of a server that a suite needs, as `npm test` has passed it on. */
export function testServer(server: TestServer): string {
  const address = process.env[variables[server]];
  if (!address) throw new Error(`${variables[server]} is not set; run the tests by \`npm test\``);
  return address;
}

/**
 * A suite that needs more than PostgreSQL: a server of the test run, or the programs for one of its own. Where that is
 * missing the suite is skipped, and the closing lines of `npm test` name it, with what brings it.
 */
export function describeWith(needs: Need | readonly Need[], name: string, suite: () => void): void {
  const { describe } = globalThis as unknown as { describe: Describe };
  const missing = (typeof needs === 'string' ? [needs] : needs).filter((need) => !isThere(need));
  if (missing.length === 0) describe(name, suite);
  else describe.skip(`${name} [needs ${missing.join(', ')}]`, suite);
}

function isThere(need: Need): boolean {
  if (need === 'redis' || need === 'kafka') return Boolean(process.env[variables[need]]);
  if (need === 'small-disk') return canMountDisk();
  if (need === 'chromium') return chromiumPath() !== undefined;
  return programs[need].every(isInstalled);
}

/** The browser: CHROME_PATH, or the system's Chromium; undefined: there is none. */
export function chromiumPath(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return process.env.CHROME_PATH || names.map(pathOf).find((path) => path !== undefined);
}

function isInstalled(program: string): boolean {
  return pathOf(program) !== undefined;
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
