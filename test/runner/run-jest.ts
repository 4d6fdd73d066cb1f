import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

interface RunOptions {
  /** Options of the runner. */
  readonly runner?: object;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface RunResult {
  readonly status: unknown;
  /** Output of jest and the test files. */
  readonly output: string;
}

const root = join(import.meta.dirname, '..', '..');

/**
 * Runs jest's command line with the runner of this folder on files that are written to a temporary folder, by name. One
 * worker runs the files in the order of their names.
 */
export async function runJest(
  files: Readonly<Record<string, string>>,
  { runner = {}, args = [], env = {} }: RunOptions = {},
): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'rms-runner-'));
  try {
    const config = {
      testMatch: ['**/*.test.ts'],
      moduleFileExtensions: ['ts', 'js'],
      transform: {},
      watchman: false,
      cacheDirectory: join(folder, 'cache'),
      runner: [join(root, 'test', 'runner', 'runner.mjs'), { closingMs: 200, ...runner }],
      testSequencer: join(folder, 'by-name.cjs'),
      reporters: ['default', join(root, 'test', 'runner', 'reporter.mjs')],
      testTimeout: 20_000,
    };
    const all = {
      'package.json': '{ "type": "module" }',
      'jest.config.json': JSON.stringify(config),
      'by-name.cjs': `module.exports = class {
        sort(tests) { return [...tests].sort((a, b) => (a.path < b.path ? -1 : 1)); }
        cacheResults() {}
      };`,
      ...files,
    };
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
    const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
    const command = [jest, '--config', join(folder, 'jest.config.json'), '--maxWorkers', '1', ...args];
    return await new Promise((resolve) => {
      // The report of this run itself is not theirs.
      const variables = { ...process.env, TEST_REPORT: '', ...env };
      execFile(process.execPath, command, { cwd: folder, env: variables }, (error, stdout, stderr) =>
        resolve({ status: error ? error.code : 0, output: stripVTControlCharacters(`${stdout}${stderr}`) }),
      );
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
