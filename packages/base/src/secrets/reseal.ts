import { type SealContext, type SecretBox, SecretBoxError } from './secret-box.ts';

/** Result of {@link reseal}. The rows of each list are in the given order. */
export interface Resealed<Row> {
  /** Rows that are encrypted with the current key. */
  readonly resealed: Row[];
  /** Rows that no key of the box opens, unchanged. */
  readonly unreadable: Row[];
}

/** Re-encrypts the value of each row with the current key of the box. */
export function reseal<Row extends { readonly sealed: Buffer }>(
  box: SecretBox,
  rows: readonly Row[],
  contextOf: (row: Row) => SealContext,
): Resealed<Row> {
  const resealed: Row[] = [];
  const unreadable: Row[] = [];
  for (const row of rows) {
    const context = contextOf(row);
    const plain = openOrNothing(box, row.sealed, context);
    if (plain) resealed.push({ ...row, sealed: box.seal(plain, context) });
    else unreadable.push(row);
  }
  return { resealed, unreadable };
}

function openOrNothing(box: SecretBox, sealed: Buffer, context: SealContext): Buffer | undefined {
  try {
    return box.open(sealed, context);
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
