import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Context of sealed data, which opens only with the same context. */
export interface SealContext {
  /** The column that stores it, such as "webhook secret". */
  readonly purpose: string;
  /** Tenant of the object, if it has one. */
  readonly workspaceId?: string | undefined;
  readonly environment?: string | undefined;
  /** ID of the object. */
  readonly id: string;
  /** Context of data in the first format, which is bound to one text; default: the ID. */
  readonly firstFormat?: string;
}

/** Encrypts secrets for storage. */
export interface SecretBox {
  /** ID of the current key, the prefix of all data sealed with it: 4 bytes in hexadecimal. */
  readonly keyId: string;
  /** IDs of all keys that can open data, the current key first. A key has one ID per format. */
  readonly keyIds: readonly string[];
  /** Whether keys other than the current one can open data. */
  readonly hasPreviousKeys: boolean;
  /**
   * Encrypts with the current key. Opening requires the same context.
   */
  seal(plain: string | Uint8Array, context: SealContext): Buffer;
  /**
   * Decrypts with the key that sealed the data. Throws {@link SecretBoxError} if the key is not in this box, the
   * context differs or the data was changed.
   */
  open(sealed: Uint8Array, context: SealContext): Buffer;
  /** Returns whether the data was sealed with the current key, in the current format. */
  isCurrent(sealed: Uint8Array): boolean;
}

/** Reports that sealed data cannot be opened. Never contains the data. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
}

const keyIdBytes = 4;
const ivBytes = 12;
const tagBytes = 16;
const formats = [2, 1] as const;
type Format = (typeof formats)[number];

/**
 * Creates a box with AES-256-GCM (NIST SP 800-38D) and a new random nonce per seal. Layout: key ID (4) | nonce
 * (12) | tag (16) | ciphertext. The key ID selects the key and the format for opening.
 *
 * Purpose, tenant and ID of the context are additional authenticated data (AAD). The first format authenticates only
 * one text, so its data can be moved between purposes and tenants. Data of the first format still opens. Its key ID
 * differs from the current key ID, so re-encrypting it with the current key converts it.
 * @param previous keys that only open data sealed with them
 */
export function createSecretBox(key: Buffer, previous: readonly Buffer[] = []): SecretBox {
  const current = keyIdOf(key, 2);
  const currentId = current.toString('hex');
  const keys = new Map(
    [...previous, key].flatMap((one) =>
      formats.map((format) => [keyIdOf(one, format).toString('hex'), { key: one, format }] as const),
    ),
  );
  return {
    keyId: currentId,
    keyIds: [currentId, ...[...keys.keys()].filter((id) => id !== currentId)],
    hasPreviousKeys: keys.size > formats.length,
    seal(plain, context) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(aadOf(context, 2));
      const text = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([current, iv, cipher.getAuthTag(), text]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes.length < keyIdBytes + ivBytes + tagBytes) throw new SecretBoxError('the sealed data is too short');
      const id = bytes.toString('hex', 0, keyIdBytes);
      const opener = keys.get(id);
      if (!opener) throw new SecretBoxError(`it was sealed with the key ${id}, which is not configured`);
      const iv = bytes.subarray(keyIdBytes, keyIdBytes + ivBytes);
      const tag = bytes.subarray(keyIdBytes + ivBytes, keyIdBytes + ivBytes + tagBytes);
      const decipher = createDecipheriv('aes-256-gcm', opener.key, iv, { authTagLength: tagBytes });
      decipher.setAAD(aadOf(context, opener.format)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(bytes.subarray(keyIdBytes + ivBytes + tagBytes)), decipher.final()]);
      } catch {
        throw new SecretBoxError('the sealed data was changed or belongs to another context');
      }
    },
    isCurrent: (sealed) => current.equals(sealed.subarray(0, keyIdBytes)),
  };
}

function aadOf({ purpose, workspaceId = '', environment = '', id, firstFormat = id }: SealContext, format: Format) {
  return Buffer.from(format === 1 ? firstFormat : JSON.stringify([purpose, workspaceId, environment, id]));
}

function keyIdOf(key: Buffer, format: Format): Buffer {
  if (key.length !== 32) throw new SecretBoxError(`a key must have 32 bytes, not ${key.length}`);
  return createHash('sha256')
    .update(format === 1 ? 'rms key id' : 'rms key id 2')
    .update(key)
    .digest()
    .subarray(0, keyIdBytes);
}
