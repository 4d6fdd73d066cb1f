import type { Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { AcceptInvitationRequest } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { checkIdentity } from '../identity/identity.ts';
import { insertIdentity } from '../identity/identity-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { checkNewPassword } from '../password/password.ts';
import { found, type HandlerParts, invalid } from '../rpc/handler.ts';
import { makeUser, type User } from '../user/user.ts';
import { findUser, insertUser } from '../user/user-queries.ts';
import type { Invitation } from './invitation.ts';

/** Somebody who accepts an invitation. */
export interface Guest {
  /** Answers with the user, who is made now if there was none. `conflict`: there is one who has to sign in. */
  comeIn(tx: Queryable): Promise<User>;
}

/** Who accepts, as far as that can be said before the transaction. Throws `invalid_request` for what may not be chosen. */
export async function readGuest(
  { passwords }: Pick<HandlerParts, 'passwords'>,
  invitation: Invitation,
  as: AcceptInvitationRequest['as'],
  context: { readonly actor: string },
): Promise<Guest> {
  switch (as.case) {
    case 'userId': {
      selfOnly(context, as.value);
      return { comeIn: async (tx) => found(await findUser(tx, as.value), 'user', as.value) };
    }
    case 'newUser': {
      const { name, password } = as.value;
      checkNewPassword(password, invitation);
      const user = makeUser(invitation, name, await passwords.hash(password));
      return { comeIn: (tx) => insertNew(tx, user) };
    }
    case 'newIdentity': {
      const identity = checkIdentity(as.value);
      const user = makeUser(invitation, as.value.name, undefined);
      return {
        async comeIn(tx) {
          await insertNew(tx, user);
          if (!(await insertIdentity(tx, identity, user.id))) throw signInFirst('this identity');
          return user;
        },
      };
    }
    default:
      throw invalid('as', 'must be a new user, a new identity or a user id');
  }
}

/** An account that is there already is not taken over by a link: its owner signs in. */
async function insertNew(tx: Queryable, user: User): Promise<User> {
  if (await insertUser(tx, user)) return user;
  throw signInFirst('this e-mail address');
}

function signInFirst(by: string): RmsError {
  return new RmsError('conflict', { message: `There is an account with ${by}: sign in to accept.` });
}
