import { keyMay, type Role } from '@rms/base/roles';
import type { Queryable } from '@rms/postgres/db';
import { type RpcContext, userOfActor } from '@rms/rpc';
import type { Acting } from '../member/member.ts';
import { roleOf } from '../member/member-queries.ts';
import { grantingKey } from './granting-key.ts';
import { verdictFor } from './key.ts';
import { creatorOfKey, findKey } from './key-queries.ts';

/**
 * Returns the caller in a workspace, for changes of members and invitations. An API key acts for the user who created
 * it, or the key that it was created with: with the user's present role, at most admin, so that it ends with the role.
 * A key that an operator created acts as an admin.
 * @param lockedRoleOf reads a user's role; the default does not lock it
 */
export async function actingWith(
  db: Queryable,
  workspaceId: string,
  context: Pick<RpcContext, 'actor' | 'principal'>,
  lockedRoleOf = (userId: string): Promise<Role | undefined> => roleOf(db, workspaceId, userId),
): Promise<Acting> {
  const [key] = grantingKey(context);
  if (!key) {
    const user = userOfActor(context.actor);
    return user === undefined ? 'operator' : { userId: user, role: await lockedRoleOf(user) };
  }
  // Checked here too, so that a gateway cannot act with a key that lacks the permission.
  const stored = key.workspaceId === workspaceId ? await findKey(db, key) : undefined;
  const isValid = stored && verdictFor(stored, stored.environment, new Date()) === 'valid';
  const creator = isValid && keyMay(stored, 'members:write') ? await creatorOfKey(db, key) : '';
  const userId = userOfActor(creator);
  const isOperator = creator === 'system' || creator.startsWith('operator:');
  const role = userId === undefined ? (isOperator ? 'admin' : undefined) : await lockedRoleOf(userId);
  return { userId, role: role === 'owner' ? 'admin' : role, byKey: true };
}
