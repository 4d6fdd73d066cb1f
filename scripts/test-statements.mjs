// npm run test:statements: runs the services' tests, records every SQL statement that they send, and checks its
// plan in a database with 100,000 rows per table (test/statements). The last line is "N passed, N failed".
// STATEMENTS_DIR is a folder with an earlier recording, which replaces the tests, or an empty folder for a new one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { statementProjects } from '../test/projects.mjs';
import { PrepareError, prepare, root } from './lib/prepare.mjs';

const given = process.env.STATEMENTS_DIR;
const folder = given ?? mkdtempSync(join(tmpdir(), 'rms-statements-'));
try {
  prepare({ development: true });
  const isRecorded = readdirSync(folder).length > 0;
  const tests = [join(root, 'scripts', 'test.mjs'), ...statementProjects];
  const testsFailed = !isRecorded && (await run(tests, folder)) !== 0;
  const plansFailed = (await run([join(root, 'test', 'statements', 'main.ts'), folder])) !== 0;
  process.exitCode = testsFailed || plansFailed ? 1 : 0;
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  console.error(`rms: ${error.message}`);
  process.exitCode = 1;
} finally {
  if (!given) rmSync(folder, { recursive: true, force: true });
}

/** Resolves to the exit code. If `record` is given, tests write their statements to that folder. */
async function run(args, record) {
  const { STATEMENTS_DIR: _, ...env } = process.env;
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: record === undefined ? env : { ...env, STATEMENTS_DIR: record },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
