import type { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Membership, User } from '@rms/proto/rms/auth/v1/user_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { DashboardConfig } from '../config.ts';
import type { PageResponse } from '../http/locals.ts';
import { cookieScope, readCookie, setCookie } from '../http/origin.ts';
import { Refusal } from '../http/refusal.ts';
import {
  type FirstStep,
  newHalfSession,
  newSession,
  newToken,
  ownerOf,
  type Session,
  type SessionStore,
  tokenHashOf,
  touchEveryMs,
} from '../session/session.ts';

/** Signed-in user with the current memberships from auth. */
export interface SignedIn {
  readonly session: Session;
  readonly user: User;
  readonly memberships: readonly Membership[];
}

/** A session that the store has. Auth has not confirmed that its user may still be signed in. */
interface Found {
  readonly tokenHash: string;
  readonly session: Session;
}

interface SessionsParts {
  readonly store: SessionStore;
  readonly signIn: Pick<RpcClient<typeof SignInService>, 'checkSession'>;
  readonly config: Pick<DashboardConfig, 'publicUrl' | 'trustedProxies' | 'oidc'>;
  readonly log: Logger;
}

type Start = Parameters<typeof newSession>[2];

const cookie = 'rms_session';
const tokenForm = /^[\w-]{43}$/;

/** Finds, starts and ends the sessions of browsers. */
export class Sessions {
  readonly #parts: SessionsParts;
  readonly #keepsIdToken: boolean;
  /** Reason of the last change that the store rejected; empty: the last one succeeded. */
  #reported = '';

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#keepsIdToken = parts.config.oidc?.endsSession ?? false;
  }

  /** Returns the session of a request, which may await the second factor. Throws `not_signed_in` without one. */
  async find(request: Request): Promise<Found> {
    const token = this.#tokenOf(request);
    if (token === undefined) throw new Refusal('not_signed_in');
    const tokenHash = tokenHashOf(token);
    const session = await this.#parts.store.find(tokenHash);
    if (!session) throw new Refusal('not_signed_in');
    return { tokenHash, session };
  }

  /** Returns the user of a session. Asks auth, and throws `not_signed_in` if it does not confirm the session. */
  async confirm({ tokenHash, session }: Found, response: PageResponse): Promise<SignedIn> {
    const { store, signIn } = this.#parts;
    const { userId, generation } = session;
    const { valid, user, memberships } = await signIn.checkSession({ userId, sessionGeneration: BigInt(generation) });
    if (!valid || !user) {
      await this.#attempt(store.remove(tokenHash));
      throw new Refusal('not_signed_in');
    }
    response.locals.userId = userId;
    const nowMs = Date.now();
    // The last use may be in the future if the clock of another instance is ahead.
    if (Math.abs(nowMs - session.lastSeenAtMs) < touchEveryMs) return { session, user, memberships };
    const seen = { ...session, lastSeenAtMs: nowMs };
    await this.#attempt(store.update(tokenHash, seen));
    return { session: seen, user, memberships };
  }

  /** Returns the session that awaits the second factor. Throws `not_signed_in` without such a session. */
  async requireHalf(request: Request): Promise<Session> {
    const { session } = await this.find(request);
    if (session.challenge === '') throw new Refusal('not_signed_in');
    return session;
  }

  /** Starts a session with a new token and ends the session that the browser sent, which prevents session fixation. */
  begin(
    request: Request,
    response: PageResponse,
    { id, sessionGeneration }: Pick<User, 'id' | 'sessionGeneration'>,
    idToken?: string,
  ): Promise<Session> {
    return this.#put(request, response, (start) => newSession(id, sessionGeneration, start), idToken);
  }

  beginHalf(
    request: Request,
    response: PageResponse,
    { challenge, challengeUserId }: FirstStep,
    idToken?: string,
  ): Promise<Session> {
    return this.#put(request, response, (start) => newHalfSession({ challenge, challengeUserId }, start), idToken);
  }

  /** Ends the session of this browser, if there is one. */
  async end(request: Request, response: PageResponse): Promise<void> {
    const { store, config } = this.#parts;
    const token = this.#tokenOf(request);
    if (token !== undefined) await store.remove(tokenHashOf(token));
    response.append('Set-Cookie', setCookie(cookie, '', { ...cookieScope(request, config), maxAgeSeconds: 0 }));
  }

  #tokenOf(request: Request): string | undefined {
    const token = readCookie(request, cookie, cookieScope(request, this.#parts.config));
    return token !== undefined && tokenForm.test(token) ? token : undefined;
  }

  async #put(
    request: Request,
    response: PageResponse,
    make: (start: Start) => Session,
    given: string | undefined,
  ): Promise<Session> {
    const { store, config } = this.#parts;
    const keepsIdToken = this.#keepsIdToken;
    const before = this.#tokenOf(request);
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
  }

  /**
   * Awaits a store change that may fail: the session can be used, or is refused, without it. A Redis that is full
   * or became a replica still returns sessions. Each distinct reason is logged once until a change succeeds.
   */
  async #attempt(change: Promise<void>): Promise<void> {
    try {
      await change;
      this.#reported = '';
    } catch (err) {
      const { message, cause } = err as Error;
      const reason = cause instanceof Error ? cause.message : message;
      if (reason !== this.#reported) {
        this.#parts.log.warn({ err }, 'the session store rejects changes; users stay signed in');
      }
      this.#reported = reason;
    }
  }
}
