// Plans every SQL statement that the services have sent during their tests, in a database with 100,000 rows per table.
// A statement fails if it scans a table or reads many rows, unless allowed.ts lists it. Run by scripts/test-all.mjs and
// scripts/test-statements.mjs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrations as alerts } from '@rms/alerts/migrations';
import { migrations as auth } from '@rms/auth/migrations';
import { migrations as audit } from '@rms/postgres/audit';
import { outboxMigrations as outbox, migrations as resources } from '@rms/resources/migrations';
import { startPostgres, testDatabase } from '@rms/testkit';
import { migrations as webhooks } from '@rms/webhooks/migrations';
import { allowed } from './allowed.ts';
import { planOf } from './plan.ts';
import { decodeStatement, type RecordedStatement } from './recorded-statement.ts';
import { rowsPerTable, seed } from './seed.ts';

const [folder = ''] = process.argv.slice(2);
const statements = readStatements(folder);
if (statements.length === 0) throw new Error(`no statements were recorded in ${folder}`);
// Autovacuum would replace the statistics during the run.
const server = await startPostgres({ fsync: 'off', shared_buffers: '256MB', autovacuum: 'off' });
try {
  const database = await testDatabase([audit, auth, outbox, resources, webhooks, alerts], server.url);
  await seed(database.url);
  console.log(`${statements.length} statements, ${rowsPerTable} rows per table`);
  const used = new Set<string>();
  let failed = 0;
  for (const statement of statements) {
    const plan = await planOf(database.pool, statement);
    const exception = allowed.find(
      ({ source, text }) => source === statement.source && flat(statement.text).includes(text),
    );
    if (plan.problems.length > 0 && exception) used.add(exception.source + exception.text);
    const bad = plan.problems.length > 0 && !exception;
    if (bad) failed += 1;
    const rows = `${plan.ran ? '' : 'about '}${plan.rowsRead} rows`;
    console.log(`${bad ? '✕' : '✓'} ${statement.source}: ${flat(statement.text).slice(0, 100)} (${rows})`);
    for (const problem of plan.problems)
      console.log(`    ${problem}${exception ? `; allowed: ${exception.reason}` : ''}`);
    if (bad) console.log(`${flat(statement.text)}\n${plan.steps.map((step) => `      ${step}`).join('\n')}`);
  }
  for (const { source, text } of allowed.filter((one) => !used.has(one.source + one.text))) {
    console.log(`Not needed in this run: the exception for ${source}: ${text}`);
  }
  console.log(`\n${statements.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
  await database.pool.end();
} finally {
  await server.stop();
}

/**
 * Reads the recorded statements that have a plan, each once, by source. If several tests send the same statement, the
 * one that a pool with kept plans sent is used, because the services send it on that pool, even if other tests do not.
 * Among these, the values of the first file by name are used, so that every run judges the same values.
 */
function readStatements(folder: string): RecordedStatement[] {
  const found = new Map<string, RecordedStatement>();
  for (const file of readdirSync(folder)) {
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) {
      if (line === '') continue;
      const statement = decodeStatement(line);
      if (!/^\s*(select|insert|update|delete|with|merge)\b/i.test(statement.text)) continue;
      const known = found.get(statement.text);
      if (known === undefined || rank(statement) < rank(known)) found.set(statement.text, statement);
    }
  }
  const order = ({ source, text }: RecordedStatement) => `${source} ${text}`;
  return [...found.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

/** Statements of pools with kept plans first, then by test file name. */
function rank({ options, test }: RecordedStatement): string {
  return `${options.includes('force_generic_plan') ? 0 : 1} ${test}`;
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
