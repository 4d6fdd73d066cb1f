import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepSecret } from './keep-secret.ts';

/** Encryption key settings. */
export interface EncryptionKeys {
  readonly ENCRYPTION_KEY: string;
  readonly ENCRYPTION_KEY_PREVIOUS: string[];
}

/**
 * Returns the encryption keys. The current key is ENCRYPTION_KEY; if it is unset, the key in `encryption.key` in
 * DATA_DIR, which the first start creates. Previous keys are ENCRYPTION_KEY_PREVIOUS and the lines of
 * `encryption.key.previous`. Throws if ENCRYPTION_KEY is set and the key in `encryption.key` is neither current nor
 * previous, because secrets encrypted with it would become unreadable.
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
      `ENCRYPTION_KEY is not the key in ${file}, which encrypts existing secrets. Unset it; or rename that file to ` +
        `${previousFile}, start again, and run \`rms secrets rotate\`.`,
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
  throw new Error(`${file} must contain 32 bytes in Base64. Secrets cannot be read without the right key.`);
}
