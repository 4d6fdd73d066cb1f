import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import type { AcceptInvitationRequest } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { userOfActor } from '@rms/rpc';
import { checkIdentity, type Identity } from '../identity/identity.ts';
import { insertIdentity } from '../identity/identity-queries.ts';
import type { PasswordHasher } from '../password/hasher.ts';
import { checkNewPassword } from '../password/password.ts';
import { found, invalid } from '../refusals.ts';
import { makeUser, type User } from '../user/user.ts';
import { findUser, insertUser } from '../user/user-queries.ts';
import type { Invitation } from './invitation.ts';

/** A user who accepts an invitation. */
export interface Invitee {
  /** Whether `join` creates the user. */
  readonly isNew: boolean;
  /** Identity that `join` links. */
  readonly identity?: Identity;
  /**
   * Returns the user. Creates the user if it is new. Throws `conflict` if the account exists and its owner must sign
   * in.
   */
  join(tx: Queryable): Promise<User>;
}

/**
 * Validates the `as` field of an acceptance before the transaction starts. Throws `invalid_request` for invalid values.
 */
export async function readInvitee(
  { passwords }: { readonly passwords: PasswordHasher },
  invitation: Invitation,
  as: AcceptInvitationRequest['as'],
  context: { readonly actor: string; readonly clientAddress: string },
): Promise<Invitee> {
  switch (as.case) {
    case 'userId': {
      // Users can accept only for themselves. A caller that acts for no user is rejected.
      if (userOfActor(context.actor) !== as.value) throw new RmsError('insufficient_role');
      return { isNew: false, join: async (tx) => found(await findUser(tx, as.value), 'user', as.value) };
    }
    case 'newUser': {
      const { name, password } = as.value;
      checkNewPassword(password, invitation);
      const user = makeUser(invitation, name, await passwords.hash(password, context.clientAddress));
      return { isNew: true, join: (tx) => insertNew(tx, user) };
    }
    case 'newIdentity': {
      return newIdentity(invitation, as.value, as.value.name, context);
    }
    default:
      throw invalid('as', 'must be a new user, a new identity or a user ID');
  }
}

/** Returns a new user without a password, who signs in with the identity. */
export function newIdentity(
  invitation: Invitation,
  given: Identity,
  name: string,
  { clientAddress }: { readonly clientAddress: string },
): Invitee {
  const identity = checkIdentity(given);
  const user = makeUser(invitation, name, undefined);
  return {
    isNew: true,
    identity,
    async join(tx) {
      await insertNew(tx, user);
      if (!(await insertIdentity(tx, identity, user, clientAddress))) throw signInFirst('this identity');
      return user;
    },
  };
}

/** Creates the user. An invitation link must not take over an existing account: its owner must sign in to accept. */
async function insertNew(tx: Queryable, user: User): Promise<User> {
  if (await insertUser(tx, user)) return user;
  throw signInFirst('this email address');
}

function signInFirst(by: string): RmsError {
  return new RmsError('conflict', {
    message: `An account with ${by} already exists. Sign in to accept the invitation.`,
  });
}
