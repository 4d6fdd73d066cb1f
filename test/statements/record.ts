// The test runner loads this file before each test file if STATEMENTS_DIR is set. It writes every distinct SQL
// statement that source files send, with the session options and the values of its first execution with these options,
// to a file of this process in STATEMENTS_DIR.
import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import pg from 'pg';
import { encodeStatement } from './recorded-statement.ts';

interface Query {
  (this: unknown, ...given: unknown[]): unknown;
  /** The method of pg, if this one records. */
  original?: Query;
}

const root = join(import.meta.dirname, '..', '..');
const file = join(process.env.STATEMENTS_DIR ?? '', `${process.pid}.jsonl`);
const known = new Set<string>();
const stackFrames = 40;

// A pool calls a client's query from a callback. Its stack does not show who called the pool.
for (const prototype of [pg.Pool.prototype, pg.Client.prototype] as unknown as { query: Query }[]) {
  // Test files of a worker share pg.
  const query = prototype.query.original ?? prototype.query;
  const recordAndQuery: Query = function (...given) {
    const [statement, values] = given as [string | pg.QueryConfig, unknown];
    const text = typeof statement === 'string' ? statement : statement?.text;
    if (text !== undefined) record(text, typeof statement === 'string' ? values : statement.values, optionsOf(this));
    return query.apply(this, given);
  };
  recordAndQuery.original = query;
  prototype.query = recordAndQuery;
}

function record(text: string, values: unknown, options: string): void {
  const key = `${options} ${text}`;
  if (known.has(key)) return;
  const source = sourceOf(stackFiles());
  if (source === undefined) return;
  known.add(key);
  const test = relative(root, expect.getState().testPath ?? '');
  const statement = { source, test, text, options, values: Array.isArray(values) ? values : [] };
  appendFileSync(file, `${encodeStatement(statement)}\n`);
}

function optionsOf(sender: unknown): string {
  const { options, connectionParameters } = sender as {
    options?: { options?: string };
    connectionParameters?: { options?: string };
  };
  return options?.options ?? connectionParameters?.options ?? '';
}

/** Returns the files in the current call stack, innermost first. Skips source maps, which cost milliseconds. */
function stackFiles(): string[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = stackFrames;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? '');
  const files = new Error().stack as unknown as string[];
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  return files;
}

/**
 * Returns the innermost source file outside @rms/postgres/db, relative to the repository; undefined for a statement
 * that a test sends itself.
 */
function sourceOf(files: readonly string[]): string | undefined {
  for (const file of files) {
    const [, path] = /((?:services|packages)\/[\w-]+\/(?:src|test)\/[\w/.-]+\.ts)(?:\?|$)/.exec(file) ?? [];
    if (path === undefined) continue;
    if (path.includes('/test/') || path.startsWith('packages/testkit/')) return undefined;
    if (!path.startsWith('packages/postgres/src/db/')) return path;
  }
  return undefined;
}
