import type { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Membership, User } from '@rms/proto/rms/auth/v1/user_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { DashboardConfig } from '../config.ts';
import { readCookie, setCookie } from '../http/cookies.ts';
import type { PageResponse } from '../http/locals.ts';
import { cookieScope } from '../http/own-origin.ts';
import { Refusal } from '../http/refusal.ts';
import {
  type FirstStep,
  newHalfSession,
  newSession,
  newToken,
  ownerOf,
  type Session,
  tokenHashOf,
  touchEveryMs,
} from '../session/session.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { UserRates } from './user-rates.ts';

/** Signed-in user with the current memberships from auth. */
export interface SignedIn {
  readonly session: Session;
  readonly user: User;
  readonly memberships: readonly Membership[];
}

/** Checks, starts and ends a request's session. */
export interface Sessions {
  /**
   * Returns the signed-in user. Throws `not_signed_in` unless the session is valid, and `rate_limit_exceeded` if the user
   * makes too many calls.
   */
  require(request: Request, response: PageResponse): Promise<SignedIn>;
  /** Returns the session that awaits the second factor. Throws `not_signed_in` without such a session. */
  requireHalf(request: Request): Promise<Session>;
  /** Starts a session with a new token and ends the session that the browser sent, which prevents session fixation. */
  begin(
    request: Request,
    response: PageResponse,
    user: Pick<User, 'id' | 'sessionGeneration'>,
    idToken?: string,
  ): Promise<Session>;
  beginHalf(request: Request, response: PageResponse, first: FirstStep, idToken?: string): Promise<Session>;
  /** Ends the session of this browser, if there is one. */
  end(request: Request, response: PageResponse): Promise<void>;
}

const cookie = 'rms_session';
const tokenForm = /^[\w-]{43}$/;

export function createSessions(parts: {
  readonly store: SessionStore;
  readonly signIn: Pick<RpcClient<typeof SignInService>, 'checkSession'>;
  readonly rates: Pick<UserRates, 'takeUser'>;
  readonly config: Pick<DashboardConfig, 'publicUrl' | 'trustedProxies' | 'oidc'>;
  readonly log: Logger;
}): Sessions {
  const { store, signIn, rates, config, log } = parts;
  const keepsIdToken = config.oidc?.endsSession ?? false;
  let reported = '';
  /**
   * Awaits a store change that may fail: the session can be used, or is refused, without it. A Redis that is full
   * or became a replica still returns sessions. Each distinct reason is logged once until a change succeeds.
   */
  const attempt = async (change: Promise<void>) => {
    try {
      await change;
      reported = '';
    } catch (err) {
      const { message, cause } = err as Error;
      const reason = cause instanceof Error ? cause.message : message;
      if (reason !== reported) log.warn({ err }, 'the session store rejects changes; users stay signed in');
      reported = reason;
    }
  };
  const tokenOf = (request: Request) => {
    const token = readCookie(request, cookie, cookieScope(request, config));
    return token !== undefined && tokenForm.test(token) ? token : undefined;
  };
  const find = async (request: Request) => {
    const token = tokenOf(request);
    if (token === undefined) throw new Refusal('not_signed_in');
    const tokenHash = tokenHashOf(token);
    const session = await store.find(tokenHash);
    if (!session) throw new Refusal('not_signed_in');
    return { tokenHash, session };
  };
  const put = async (
    request: Request,
    response: PageResponse,
    make: (start: Start) => Session,
    given: string | undefined,
  ) => {
    const before = tokenOf(request);
    const previous = before !== undefined && keepsIdToken ? await store.find(tokenHashOf(before)) : undefined;
    if (before !== undefined) await store.remove(tokenHashOf(before));
    const made = make({
      address: response.locals.client().address,
      userAgent: request.headers['user-agent'] ?? '',
      nowMs: Date.now(),
    });
    // The second step's session, or one after a change of credentials, continues the previous one.
    const continued = previous && ownerOf(previous) === ownerOf(made) ? previous.idToken : undefined;
    const session = { ...made, ...(keepsIdToken ? { idToken: given ?? continued } : {}) };
    const token = newToken();
    await store.add(tokenHashOf(token), session);
    const maxAgeSeconds = Math.ceil((session.endsAtMs - session.createdAtMs) / 1000);
    response.append('Set-Cookie', setCookie(cookie, token, { ...cookieScope(request, config), maxAgeSeconds }));
    return session;
  };
  return {
    async require(request, response) {
      const { tokenHash, session } = await find(request);
      if (session.userId === '') throw new Refusal('second_factor_required');
      const { userId, generation } = session;
      await rates.takeUser(userId);
      const { valid, user, memberships } = await signIn.checkSession({ userId, sessionGeneration: BigInt(generation) });
      if (!valid || !user) {
        await attempt(store.remove(tokenHash));
        throw new Refusal('not_signed_in');
      }
      response.locals.userId = userId;
      const nowMs = Date.now();
      // The last use may be in the future if the clock of another instance is ahead.
      if (Math.abs(nowMs - session.lastSeenAtMs) < touchEveryMs) return { session, user, memberships };
      const seen = { ...session, lastSeenAtMs: nowMs };
      await attempt(store.update(tokenHash, seen));
      return { session: seen, user, memberships };
    },
    async requireHalf(request) {
      const { session } = await find(request);
      if (session.challenge === '') throw new Refusal('not_signed_in');
      return session;
    },
    begin: (request, response, { id, sessionGeneration }, idToken) =>
      put(request, response, (start) => newSession(id, sessionGeneration, start), idToken),
    beginHalf: (request, response, { challenge, challengeUserId }, idToken) =>
      put(request, response, (start) => newHalfSession({ challenge, challengeUserId }, start), idToken),
    async end(request, response) {
      const token = tokenOf(request);
      if (token !== undefined) await store.remove(tokenHashOf(token));
      response.append('Set-Cookie', setCookie(cookie, '', { ...cookieScope(request, config), maxAgeSeconds: 0 }));
    },
  };
}

type Start = Parameters<typeof newSession>[2];
