import type { Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import { userOfActor } from '../user/user-audit.ts';
import type { Acting, Member } from './member.ts';
import { roleOf } from './member-queries.ts';

/** Who acts in a workspace, by the actor of the call's context. */
export async function actingIn(db: Queryable, workspaceId: string, actor: string): Promise<Acting> {
  const userId = userOfActor(actor);
  return userId === undefined ? 'operator' : { userId, role: await roleOf(db, workspaceId, userId) };
}

/** The same where all members are known, and held so that no role changes any more. */
export function actingAmong(members: readonly Pick<Member, 'userId' | 'role'>[], actor: string): Acting {
  const userId = userOfActor(actor);
  if (userId === undefined) return 'operator';
  return { userId, role: members.find((member) => member.userId === userId)?.role };
}

/** Throws `insufficient_role` where a person acts: this is for operators and services. */
export function operatorsOnly({ actor }: { actor: string }): void {
  if (userOfActor(actor) !== undefined) throw new RmsError('insufficient_role');
}

/** Throws `insufficient_role` where a person acts on somebody else. */
export function selfOnly({ actor }: { actor: string }, userId: string): void {
  const acting = userOfActor(actor);
  if (acting !== undefined && acting !== userId) throw new RmsError('insufficient_role');
}
