import { type FieldViolation, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import type { Email } from './email.ts';

/** A person, as stored. */
export interface User extends Email {
  readonly id: string;
  readonly name: string;
  /** Argon2id as a PHC string; undefined: no password. */
  readonly passwordHash: string | undefined;
  /** Counts what ends all sessions. */
  readonly sessionGeneration: number;
  readonly createdAt: Date;
  readonly lastSignInAt: Date | undefined;
  readonly hasSecondFactor: boolean;
  /** Since when they are not let in; undefined: they are. */
  readonly disabledAt: Date | undefined;
}

const longestName = 100;

/** A new person. Throws `invalid_request` for a bad name. */
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

/** A person's name, which may be empty. Throws `invalid_request`. */
export function checkName(name: string): string {
  const details: FieldViolation[] = [];
  if ([...name].length > longestName) {
    details.push({ field: 'name', message: `must have at most ${longestName} characters` });
  }
  if (/\p{Cc}/u.test(name)) details.push({ field: 'name', message: 'must not hold control characters' });
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return name;
}
