import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Servers that all test files of a run share, each with the variable that can select an existing server. */
const variables = { postgres: 'TEST_DATABASE_URL', redis: 'TEST_REDIS_URL', kafka: 'TEST_KAFKA_BROKERS' } as const;

export type RunServer = keyof typeof variables;

/** Programs that a suite starts itself. */
export type RunProgram = 'redis-server' | 'java' | 'chromium' | 'zsh' | 'fish' | 'newest-node';

/** Long, because installing a program takes minutes on a slow network. */
const timeoutMs = 10 * 60_000;
const pollMs = 20;

/**
 * Returns a server's address that the test run shares. `npm test` starts it when the first test file asks for it.
 * @throws {Error} if it cannot be provided
 */
export function testServer(server: RunServer): string {
  const address = request(server);
  if (!address) throw new Error(`no ${server}: run the tests by \`npm test\`, or set ${variables[server]}`);
  return address;
}

/**
 * Asks the test run for a server or a program and blocks until it is available. Returns the server's address, '' for a
 * program, and undefined if it cannot be provided. The run reads `<name>.request` in the folder TEST_RUN_DIR and writes
 * `<name>.reply`; files make the call synchronous, as `describe` requires.
 */
export function request(name: RunServer | RunProgram): string | undefined {
  const given = name in variables ? process.env[variables[name as RunServer]] : undefined;
  if (given) return given;
  const folder = process.env.TEST_RUN_DIR;
  if (!folder) return undefined;
  const reply = join(folder, `${name}.reply`);
  if (!existsSync(reply)) writeFileSync(join(folder, `${name}.request`), '');
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; !existsSync(reply); waitedMs += pollMs) {
    if (waitedMs >= timeoutMs) throw new Error(`the test run did not provide ${name} within ${timeoutMs / 1_000} s`);
    Atomics.wait(sleeper, 0, 0, pollMs);
  }
  const { address } = JSON.parse(readFileSync(reply, 'utf8')) as { address?: string };
  return address;
}
