/*
 * Rules of values in requests, each in one text: for the API's schemas, the services' checks and the hints in
 * pages. Without dependencies, because pages import it.
 */

/** Maximum number of Unicode code points in a resource's name. */
export const resourceNameLength = 255;

/** Limits of a resource's metadata. Lengths in Unicode code points. */
export const metadataLimits = { pairs: 50, keyLength: 40, valueLength: 500 } as const;

/** Maximum length of an Idempotency-Key. */
export const idempotencyKeyLength = 255;

const printableAscii = /^[\x20-\x7e]+$/;

/** Returns why a text is not an Idempotency-Key, or undefined if it is one. */
export function idempotencyKeyProblem(key: string): string | undefined {
  if (key.length <= idempotencyKeyLength && printableAscii.test(key)) return undefined;
  return `must be 1 to ${idempotencyKeyLength} printable ASCII characters`;
}

/**
 * Returns why a text is not valid, or undefined if it is. It must have `least` to `most` Unicode code points, without
 * NUL and unpaired surrogates, which PostgreSQL or UTF-8 cannot store.
 */
export function textProblem(value: string, least: number, most: number): string | undefined {
  // A string has at most as many code points as UTF-16 code units, and at least half as many.
  if (value.length < least || (value.length > most && codePoints(value) > most)) {
    return `must have ${least} to ${most} characters, has ${codePoints(value)}`;
  }
  if (value.includes('\u0000') || !value.isWellFormed()) return 'must not contain NUL or unpaired surrogates';
  return undefined;
}

/** Problem of a value within metadata. */
export interface MetadataProblem {
  /** Key of the pair; empty: the metadata as a whole. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Maximum number of pairs in a filter by metadata. */
export const metadataFilterPairs = 3;

/** Returns the problems of metadata, or of a filter by metadata with fewer pairs; none if it is valid. */
export function metadataProblems(value: unknown, maxPairs: number = metadataLimits.pairs): MetadataProblem[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ path: [], message: 'must be an object of strings' }];
  }
  const { keyLength, valueLength } = metadataLimits;
  const pairs = Object.entries(value);
  if (pairs.length > maxPairs) {
    return [{ path: [], message: `must have at most ${maxPairs} pairs, has ${pairs.length}` }];
  }
  return pairs.flatMap(([key, item]) => {
    const keyProblem = textProblem(key, 1, keyLength);
    const problem = typeof item === 'string' ? textProblem(item, 0, valueLength) : 'must be a string';
    return [
      ...(keyProblem === undefined ? [] : [{ path: [key], message: `the key ${keyProblem}` }]),
      ...(problem === undefined ? [] : [{ path: [key], message: problem }]),
    ];
  });
}

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}
