import { join } from 'node:path';
import { keepSecret } from './keep-secret.ts';

/** The key of ENCRYPTION_KEY, or else one made at the first start and kept beside the data that it encrypts. */
export function encryptionKey(setting: string, dataDir: string): string {
  if (setting !== '') return setting;
  const file = join(dataDir, 'encryption.key');
  const key = keepSecret(file, 'base64');
  if (Buffer.from(key, 'base64').length !== 32) {
    throw new Error(`${file} does not hold 32 bytes in base64; without the right key, secrets cannot be read`);
  }
  return key;
}
