import type { IdPrefix } from '@rms/base/ids';
import type { Pool } from '@rms/postgres/db';
import { disposable } from '@rms/testkit';
import type { RecordedStatement } from './recorded-statement.ts';
import { bigWorkspace, seededId } from './seed.ts';

/** Maximum number of rows that a plan step may read, including rows that it filters out. */
export const maxRowsRead = 10_000;
/** SQLSTATE of a statement that exceeds the statement_timeout of the pool. */
const queryCanceled = '57014';
/** Maximum number of rows that a table scan may read. Partitions of other days are empty and may be scanned. */
const smallTable = 1_000;

export interface Plan {
  /** Descriptions of violations: table scans, steps that read too many rows, a timeout. */
  readonly problems: readonly string[];
  /** Highest number of rows that a step reads. */
  readonly rowsRead: number;
  /** Steps of the plan, indented by depth: node type, index or table, and number of rows. */
  readonly steps: readonly string[];
  /** Whether the statement was executed. If not, numbers of rows are estimates. */
  readonly ran: boolean;
}

/** Steps that read a row only when their parent asks for one, so that a Limit above them ends them. */
const streaming = [
  'Limit',
  'LockRows',
  'Append',
  'Merge Append',
  'Result',
  'Subquery Scan',
  'Nested Loop',
  'ProjectSet',
];

interface Node {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Plan Rows': number;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}

/**
 * Returns a statement's plan for the big workspace. Executes the statement in a transaction that is rolled back.
 * If it fails, for example because a unique key exists, only plans it.
 */
export async function planOf(pool: Pool, { text, options, values }: RecordedStatement): Promise<Plan> {
  await using client = disposable(await pool.connect(), 'release');
  for (const analyze of [true, false]) {
    await client.query('begin');
    // A backslash escapes the next character.
    for (const [, name, value = ''] of options.matchAll(/-c (\w+)=((?:\\.|\S)+)/g)) {
      if (name !== 'role') await client.query('select set_config($1, $2, true)', [name, value.replace(/\\(.)/g, '$1')]);
    }
    try {
      const { rows } = await client.query({
        text: `explain (format json, analyze ${analyze}${analyze ? ', timing off' : ''}) ${text}`,
        values: ofBigWorkspace(values) as unknown[],
      });
      return judge(rows[0]['QUERY PLAN'][0].Plan, analyze);
    } catch (error) {
      if ((error as { code?: string }).code === queryCanceled)
        return { problems: ['exceeds the time limit of statements'], rowsRead: 0, steps: [], ran: false };
      if (!analyze) throw error;
    } finally {
      await client.query('rollback');
    }
  }
  throw new Error('unreachable');
}

/** Replaces every ID in the values with a seeded row's ID. Equal IDs stay equal, different IDs stay different. */
function ofBigWorkspace(values: readonly unknown[]): readonly unknown[] {
  const replaced = new Map<string, string>();
  const replace = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== 'string') return value;
    // Tests also send NUL, which PostgreSQL rejects.
    return value
      .replaceAll('\0', '')
      .replace(/\b(ws|wh|res|evt|dlv|key|usr|inv|req|inc)_[0-9a-z]{26}\b/g, (id, prefix: IdPrefix) => {
        const known = replaced.get(id);
        if (known !== undefined) return known;
        const number = [...replaced.keys()].filter((other) => other.startsWith(`${prefix}_`)).length + 1;
        const seeded = prefix === 'ws' && number === 1 ? bigWorkspace : seededId(prefix, number);
        replaced.set(id, seeded);
        return seeded;
      });
  };
  return values.map(replace);
}

function judge(root: Node, ran: boolean): Plan {
  const problems: string[] = [];
  const steps: string[] = [];
  let rowsRead = 0;
  // The estimate of a step ignores that a Limit above it ends it early; `most` is the estimate of that Limit.
  const visit = (node: Node, depth: number, most: number) => {
    const table = node['Relation Name'];
    const rows = ran ? rowsOf(node) : Math.min(rowsOf(node), most);
    rowsRead = Math.max(rowsRead, rows);
    steps.push(`${'  '.repeat(depth)}${node['Node Type']} ${node['Index Name'] ?? table ?? ''} ${rows}`);
    if (node['Node Type'] === 'Seq Scan' && rows > smallTable) problems.push(`scans ${table} (${rows} rows)`);
    else if (rows > maxRowsRead)
      problems.push(`${node['Node Type']} ${node['Index Name'] ?? table ?? ''} reads ${rows} rows`);
    const ends = streaming.includes(node['Node Type']);
    for (const child of node.Plans ?? []) {
      const isAsked = ends && ['Outer', 'Member', 'Subquery'].includes(child['Parent Relationship'] ?? '');
      visit(child, depth + 1, isAsked ? rows : Number.POSITIVE_INFINITY);
    }
  };
  visit(root, 0, Number.POSITIVE_INFINITY);
  return { problems, rowsRead, steps, ran };
}

function rowsOf(node: Node): number {
  const loops = node['Actual Loops'];
  if (loops === undefined) return node['Plan Rows'];
  const perLoop =
    (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return Math.round(perLoop * loops);
}
