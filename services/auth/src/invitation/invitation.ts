import { newId } from '@rms/ids';
import type { Role } from '@rms/roles';
import type { Email } from '../user/email.ts';

/** Somebody who may become a member by the token that was mailed to them. */
export interface Invitation extends Email {
  readonly workspaceId: string;
  readonly id: string;
  readonly role: Role;
  readonly tokenHash: Buffer;
  /** "user:usr_…", "operator:alice@laptop". */
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

const lifetimeMs = 7 * 24 * 3_600_000;

export function makeInvitation(
  input: Email & Pick<Invitation, 'workspaceId' | 'role' | 'tokenHash' | 'invitedBy'>,
): Invitation {
  const createdAt = new Date();
  return { ...input, id: newId('inv'), createdAt, expiresAt: new Date(createdAt.getTime() + lifetimeMs) };
}
