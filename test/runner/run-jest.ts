import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

interface RunOptions {
  /** Options of the runner. */
  readonly runner?: object;
  readonly args?: readonly string[];
}

interface RunResult {
  readonly status: unknown;
  /** Output of jest and the test files. */
  readonly output: string;
  /** What reporter.mjs writes. */
  readonly report: { files: { name: string; tests: { state: string }[] }[] };
}

const root = join(import.meta.dirname, '..', '..');

/**
 * Runs jest's command line with the runner of this folder on files that are written to a temporary folder, by name. One
 * worker runs the files in the order of their names.
 */
export async function runJest(
  files: Readonly<Record<string, string>>,
  { runner = {}, args = [] }: RunOptions = {},
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
    const report = join(folder, 'report.json');
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        command,
        { cwd: folder, env: { ...process.env, TEST_REPORT: report } },
        (error, stdout, stderr) =>
          resolve({
            status: error ? error.code : 0,
            output: stripVTControlCharacters(`${stdout}${stderr}`),
            report: JSON.parse(readFileSync(report, 'utf8')),
          }),
      );
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the part of the output about a file: its state, and the errors if it failed. */
export function sectionOf(output: string, file: string): string {
  return output.split(/^(?=(?:PASS|FAIL) |Test Suites: )/m).find((part) => part.includes(`./${file}`)) ?? '';
}
