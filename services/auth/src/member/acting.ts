import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import { userOfActor } from '@rms/rpc';
import type { Acting } from './member.ts';
import { roleOf } from './member-queries.ts';

/** Returns the caller's role in a workspace, from the actor in the call's context. */
export async function actingIn(db: Queryable, workspaceId: string, actor: string): Promise<Acting> {
  const userId = userOfActor(actor);
  return userId === undefined ? 'operator' : { userId, role: await roleOf(db, workspaceId, userId) };
}

/** Throws `insufficient_role` if a user acts on another user's account. */
export function selfOnly({ actor }: { actor: string }, userId: string): void {
  const acting = userOfActor(actor);
  if (acting !== undefined && acting !== userId) throw new RmsError('insufficient_role');
}
