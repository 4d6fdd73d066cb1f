import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepSecret } from './keep-secret.ts';

/** The settings that name encryption keys. */
export interface EncryptionKeys {
  readonly ENCRYPTION_KEY: string;
  readonly ENCRYPTION_KEY_PREVIOUS: string[];
}

/**
 * The key of ENCRYPTION_KEY, or else one made at the first start and kept beside the data that it encrypts, in
 * `encryption.key`. Those before it: ENCRYPTION_KEY_PREVIOUS, and `encryption.key.previous` beside it (one on a line).
 * Refuses an ENCRYPTION_KEY that would make unreadable what the kept key has sealed.
 */
export function encryptionKeys(given: EncryptionKeys, dataDir: string): EncryptionKeys {
  const file = join(dataDir, 'encryption.key');
  const previousFile = `${file}.previous`;
  const kept = readLines(previousFile);
  for (const key of kept) checkKey(key, previousFile);
  const previous = [...given.ENCRYPTION_KEY_PREVIOUS, ...kept];
  if (given.ENCRYPTION_KEY === '') {
    const key = keepSecret(file, 'base64');
    checkKey(key, file);
    return { ENCRYPTION_KEY: key, ENCRYPTION_KEY_PREVIOUS: previous };
  }
  const [own] = readLines(file);
  const isNamed = [given.ENCRYPTION_KEY, ...previous].some((key) => own === undefined || isSame(key, own));
  if (!isNamed) {
    throw new Error(
      `ENCRYPTION_KEY is not the key in ${file}, which has sealed secrets: unset it; or rename that file to ` +
        `${previousFile}, so that its key still opens them, start again, and run \`rms secrets rotate\``,
    );
  }
  return { ENCRYPTION_KEY: given.ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS: previous };
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function isSame(key: string, other: string): boolean {
  return Buffer.from(key, 'base64').equals(Buffer.from(other, 'base64'));
}

function checkKey(key: string, file: string): void {
  if (Buffer.from(key, 'base64').length === 32) return;
  throw new Error(`${file} does not hold 32 bytes in base64; without the right key, secrets cannot be read`);
}
