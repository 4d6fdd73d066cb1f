import { createSecretBox, readKeyRing, SecretBoxError } from '@rms/base/secrets';
import { isUnexpired, type Session } from './session.ts';

/** Encrypts and authenticates session records with a key that only the dashboard has. */
export interface SessionBox {
  /** Encrypts a session for a token's record. */
  seal(tokenHash: string, session: Session): string;
  /**
   * Decrypts a token's record. Undefined if the session has expired. Throws SecretBoxError if the record was not
   * sealed with this key for this token.
   */
  open(tokenHash: string, record: string): Session | undefined;
}

/**
 * Creates a box with AES-256-GCM. Write access to the store is therefore not enough to create or change a session, to
 * move it to another token, or to extend it: a record is bound to its token hash, and the box checks its expiry.
 * @param sessionKey 32 bytes in base64
 */
export function createSessionBox(sessionKey: string, nowMs: () => number = Date.now): SessionBox {
  const [key] = readKeyRing(sessionKey, [], 'SESSION_KEY').derive('dashboard sessions');
  const box = createSecretBox(key);
  const contextOf = (tokenHash: string) => ({ purpose: 'session', id: tokenHash });
  return {
    seal: (tokenHash, session) => box.seal(JSON.stringify(session), contextOf(tokenHash)).toString('base64url'),
    open(tokenHash, record) {
      const session = JSON.parse(
        box.open(Buffer.from(record, 'base64url'), contextOf(tokenHash)).toString(),
      ) as Session;
      return isUnexpired(session, nowMs()) ? session : undefined;
    },
  };
}

/** Reports whether opening failed because the record was not sealed with the box's key for its token. */
export function isForeignRecord(error: unknown): boolean {
  return error instanceof SecretBoxError;
}
