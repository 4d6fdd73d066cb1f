import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Encrypts what has to be secret at rest. */
export interface SecretBox {
  /** The name of the current key, as it stands in front of everything that it sealed: 4 bytes, hex. */
  readonly keyId: string;
  /** The names of all keys that this box opens with, the current one first. */
  readonly keyIds: readonly string[];
  /**
   * Seals with the current key.
   * @param context what the secret belongs to (an id): it opens with the same context only
   */
  seal(plain: string | Uint8Array, context: string): Buffer;
  /**
   * Opens with the key that sealed it. Throws {@link SecretBoxError} if that is none of this box, or it was sealed for
   * another context, or was changed.
   */
  open(sealed: Uint8Array, context: string): Buffer;
  /** Whether the current key sealed it. */
  isCurrent(sealed: Uint8Array): boolean;
}

/** Says that something sealed cannot be opened, never what it holds. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
}

const keyIdBytes = 4;
const ivBytes = 12;
const tagBytes = 16;

/**
 * AES-256-GCM (NIST SP 800-38D) with a fresh random nonce each time.
 * Layout: key id (4) | nonce (12) | tag (16) | ciphertext. The key id names the key to open with.
 * @param previous keys that open what they sealed, and seal nothing
 */
export function createSecretBox(key: Buffer, previous: readonly Buffer[] = []): SecretBox {
  const current = keyIdOf(key);
  const currentId = current.toString('hex');
  const keys = new Map([...previous, key].map((one) => [keyIdOf(one).toString('hex'), one]));
  return {
    keyId: currentId,
    keyIds: [currentId, ...[...keys.keys()].filter((id) => id !== currentId)],
    seal(plain, context) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([current, iv, cipher.getAuthTag(), text]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes.length < keyIdBytes + ivBytes + tagBytes) throw new SecretBoxError('what is sealed is too short');
      const id = bytes.toString('hex', 0, keyIdBytes);
      const opener = keys.get(id);
      if (!opener) throw new SecretBoxError(`it was sealed with the key ${id}, which is not among those configured`);
      const iv = bytes.subarray(keyIdBytes, keyIdBytes + ivBytes);
      const tag = bytes.subarray(keyIdBytes + ivBytes, keyIdBytes + ivBytes + tagBytes);
      const decipher = createDecipheriv('aes-256-gcm', opener, iv, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(bytes.subarray(keyIdBytes + ivBytes + tagBytes)), decipher.final()]);
      } catch {
        throw new SecretBoxError('what is sealed was changed, or belongs elsewhere');
      }
    },
    isCurrent: (sealed) => current.equals(sealed.subarray(0, keyIdBytes)),
  };
}

function keyIdOf(key: Buffer): Buffer {
  if (key.length !== 32) throw new SecretBoxError(`a key has 32 bytes, this one ${key.length}`);
  return createHash('sha256').update('rms key id').update(key).digest().subarray(0, keyIdBytes);
}
