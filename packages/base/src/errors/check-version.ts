import { RmsError } from './rms-error.ts';

/** Returns whether `version` is one of the expected versions. An empty list expects any version. */
export function isExpected(version: number, expected: readonly bigint[]): boolean {
  return expected.length === 0 || expected.includes(BigInt(version));
}

/** Throws `precondition_failed` unless {@link isExpected}. */
export function checkVersion(version: number, expected: readonly bigint[]): void {
  if (!isExpected(version, expected)) throw new RmsError('precondition_failed');
}
