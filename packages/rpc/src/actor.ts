const userPrefix = 'user:';

/** Returns the actor string of a user, as in the context of calls and in the audit log. */
export function actorOfUser(userId: string): string {
  return `${userPrefix}${userId}`;
}

/** Returns the acting user's ID, or undefined for an operator, an API key or a service. */
export function userOfActor(actor: string): string | undefined {
  return actor.startsWith(userPrefix) ? actor.slice(userPrefix.length) : undefined;
}
