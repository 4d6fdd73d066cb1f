import { RmsError } from '@rms/base/errors';
import { isId } from '@rms/base/ids';
import { inTransaction, type Pool } from '../db/index.ts';
import { type Part, partsOf, type WorkspaceContents } from './contents.ts';
import {
  addDeletedRows,
  deleteRange,
  insertDeleted,
  lockDeleted,
  readDeletedRows,
  readRange,
  rowsPerBatch,
} from './deletion-queries.ts';

/** Maximum duration of a call, so that it ends long before its deadline. */
const callMs = 2_000;

/** Place where the deletion continues: a part, and the last deleted value of its column `by`. */
interface Position {
  readonly part: number;
  readonly after: string | undefined;
}

/** Result of {@link deleteContents}, in the RPCs' form. */
interface Deletion {
  /** Deleted rows by table, of all calls for the workspace together. */
  readonly deleted: Record<string, bigint>;
  /** Empty: nothing remains. */
  readonly nextPageToken: string;
}

/** Throws `invalid_request` unless `workspaceId` is a workspace ID. */
export function checkWorkspaceId(workspaceId: string): void {
  if (!isId('ws', workspaceId)) throw invalid('workspace_id', 'must be the ID of a workspace');
}

/**
 * Deletes rows of a workspace for up to two seconds, in batches that are committed one by one. The position is kept only
 * in the page token, so that a batch does not read the entries of rows that earlier batches deleted. Without a token,
 * the deletion starts again, which an interruption at any point allows.
 */
export async function deleteContents(
  { pool, contents }: { readonly pool: Pool; readonly contents: WorkspaceContents },
  { workspaceId, pageToken }: { readonly workspaceId: string; readonly pageToken: string },
): Promise<Deletion> {
  checkWorkspaceId(workspaceId);
  const { schema } = contents;
  const parts = partsOf(contents);
  let position: Position | undefined = readToken(parts, pageToken);
  await insertDeleted(pool, schema, workspaceId);
  const endsAtMs = performance.now() + callMs;
  do {
    position = await deleteBatch(pool, schema, workspaceId, parts, position);
  } while (position && performance.now() < endsAtMs);
  const rows = await readDeletedRows(pool, schema, workspaceId);
  return {
    deleted: Object.fromEntries(Object.entries(rows).map(([table, count]) => [table, BigInt(count)])),
    nextPageToken: position ? makeToken(parts, position) : '',
  };
}

/** Deletes the next batch. Returns the position after it; undefined at the end. */
function deleteBatch(
  pool: Pool,
  schema: WorkspaceContents['schema'],
  workspaceId: string,
  parts: readonly Part[],
  { part: index, after }: Position,
): Promise<Position | undefined> {
  return inTransaction(pool, async (tx) => {
    const part = parts[index];
    if (!part) return undefined;
    const range = await readRange(tx, workspaceId, part, after);
    if (range) {
      await lockDeleted(tx, schema, workspaceId);
      const rows = await deleteRange(tx, workspaceId, part, range);
      await addDeletedRows(tx, schema, workspaceId, part.table.name, rows);
      if (range.rows === rowsPerBatch) return { part: index, after: range.last };
    }
    return index + 1 < parts.length ? { part: index + 1, after: undefined } : undefined;
  });
}

function makeToken(parts: readonly Part[], { part: index, after }: Position): string {
  const { table, environment } = parts[index] as Part;
  return JSON.stringify([table.name, environment ?? '', after ?? null]);
}

function readToken(parts: readonly Part[], token: string): Position {
  if (token === '') return { part: 0, after: undefined };
  try {
    const [name, environment, after] = JSON.parse(token) as [string, string, string | null];
    const part = parts.findIndex((one) => one.table.name === name && (one.environment ?? '') === environment);
    if (part >= 0 && (after === null || typeof after === 'string')) return { part, after: after ?? undefined };
  } catch {
    // Not JSON, or not an array.
  }
  throw invalid('page_token', 'is not a page token of this method');
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
