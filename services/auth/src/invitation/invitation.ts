import { newId } from '@rms/base/ids';
import type { Role } from '@rms/base/roles';
import type { Email } from '../user/email.ts';

/** An invitation to a workspace. Its token is sent by email, or returned once to the inviter. */
export interface Invitation extends Email {
  readonly workspaceId: string;
  readonly id: string;
  readonly role: Role;
  readonly tokenHash: Buffer;
  /** For example "user:usr_…" or "operator:alice@laptop". */
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

const lifetimeMs = 7 * 24 * 3_600_000;

/** Creates an invitation that is open for seven days. */
export function makeInvitation(
  input: Email & Pick<Invitation, 'workspaceId' | 'role' | 'tokenHash' | 'invitedBy'>,
  createdAt: Date,
): Invitation {
  return { ...input, id: newId('inv'), createdAt, expiresAt: new Date(createdAt.getTime() + lifetimeMs) };
}
