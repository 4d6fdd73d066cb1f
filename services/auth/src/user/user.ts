import { type FieldViolation, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import type { Email } from './email.ts';

/** A user as stored. */
export interface User extends Email {
  readonly id: string;
  readonly name: string;
  /** Argon2id as a PHC string. undefined if the user has no password. */
  readonly passwordHash: string | undefined;
  /** Incremented to end all sessions. */
  readonly sessionGeneration: number;
  readonly createdAt: Date;
  readonly lastSignInAt: Date | undefined;
  readonly hasSecondFactor: boolean;
  /** When the user was disabled. undefined if the user is enabled. */
  readonly disabledAt: Date | undefined;
}

const maxNameLength = 100;

/** Creates a user. Throws `invalid_request` for an invalid name. */
export function makeUser({ email, emailKey }: Email, name: string, passwordHash: string | undefined): User {
  return {
    id: newId('usr'),
    email,
    emailKey,
    name: checkName(name),
    passwordHash,
    sessionGeneration: 1,
    createdAt: new Date(),
    lastSignInAt: undefined,
    hasSecondFactor: false,
    disabledAt: undefined,
  };
}

/** Validates a user's name, which may be empty. Throws `invalid_request`. */
export function checkName(name: string): string {
  const details: FieldViolation[] = [];
  if ([...name].length > maxNameLength) {
    details.push({ field: 'name', message: `must have at most ${maxNameLength} characters` });
  }
  if (/\p{Cc}/u.test(name)) details.push({ field: 'name', message: 'must not contain control characters' });
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return name;
}
