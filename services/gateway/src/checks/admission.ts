import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '@rms/api';
import { environmentOfApiKey, hashOfApiKey, isWellFormedApiKey, keyPrefixes } from '@rms/base/api-key';
import { RmsError, toRmsError } from '@rms/base/errors';
import { keyMay, leastScopeFor, type Permission } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';
import type { LimitDecision, Limiter, LimitState } from '@rms/limits';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { ApiResponse, Locals } from '../http/observe-request.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import type { KeyUses } from './key-uses.ts';
import { type Caller, KeyRefusal, type Principals } from './principals.ts';
import type { RequestUsage } from './request-usage.ts';

export interface AdmissionParts {
  readonly environment: Environment;
  readonly principals: Principals;
  readonly limiter: Limiter;
  readonly failures: FailedAuthentications;
  readonly keyUses: KeyUses;
  readonly usage: RequestUsage;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/**
 * The checks that every request under /v1 must pass before its response may reveal whether the path exists, in this
 * order:
 *
 * 1. 429 for an address with too many failed authentications, unless the key was valid recently
 * 2. 401: the key's form, then its verdict, from the cache or by auth
 * 3. 403: the key's allowlist, then the permission that the endpoint requires
 * 4. 429: rate limits and quota, in one round trip with the revocation marker; a 403 takes from its own limit
 *
 * If the marker shows that the key has changed, step 3 is repeated with a new verdict of auth.
 */
export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Authenticates and authorizes a request and returns its caller. Throws if the request is refused. */
  async admit(request: Request, response: ApiResponse, endpoint?: Endpoint): Promise<Caller> {
    const { keyHash, caller } = await this.#authenticate(request, response);
    try {
      return await this.#authorize({ keyHash, caller }, request, response, endpoint);
    } catch (thrown) {
      const { code, kind } = toRmsError(thrown);
      if (kind.httpStatus < 500) this.#parts.keyUses.noteRefusal(caller.principal, code);
      throw thrown;
    }
  }

  /** Returns the key's caller. Throws a 401 error, or a 429 error for an address with too many failures. */
  async #authenticate(request: Request, response: ApiResponse) {
    const { environment, principals, failures } = this.#parts;
    try {
      const keyHash = keyHashOf(request, environment);
      const known = principals.cached(keyHash);
      if (known) return { keyHash, caller: known };
      // Without this exception, failures of other clients at a shared address would block valid keys.
      if (!principals.wasValid(keyHash)) failures.admitLookup(response.locals.client().address);
      return { keyHash, caller: await principals.ask(keyHash, response.locals.requestId) };
    } catch (thrown) {
      throw await this.#counted(toRmsError(thrown), response);
    }
  }

  /** Checks a caller's address, permission and limits. Returns the caller by the newest verdict. */
  async #authorize(
    { keyHash, caller: found }: { readonly keyHash: Buffer; readonly caller: Caller },
    request: Request,
    response: ApiResponse,
    endpoint: Endpoint | undefined,
  ): Promise<Caller> {
    const { environment, principals, limiter, keyUses, usage, metrics } = this.#parts;
    let caller = found;
    const { workspaceId, keyId } = caller.principal;
    response.locals.workspaceId = workspaceId;
    response.locals.keyId = keyId;
    usage.follow(response, caller.principal, caller.limits.monthlyQuota);
    response.locals.steps.authenticatedAtMs = performance.now();
    const limit = async (refused: boolean) => {
      const { version: keyVersion, limits } = caller;
      const sentAtMs = performance.now();
      const decision = await limiter.check({ workspaceId, environment, keyId, keyVersion, limits, refused });
      if (!refused || decision.outcome !== 'allowed') response.locals.limitOutcome = decision.outcome;
      metrics.countLimitCheck(decision, performance.now() - sentAtMs);
      response.locals.steps.limitedAtMs = performance.now();
      // Before the call to auth, so that the limit also bounds these calls.
      if (refused) checkLimits(decision, limits.rateLimitWindowSeconds, 'refused requests of this key');
      return decision;
    };
    let refusal = this.#refusalOf(caller, response, endpoint);
    let decision = await limit(refusal !== undefined);
    // Auth decides about a key that has changed, and about every key while the revocation markers are not trusted: a
    // key revoked a moment ago must get 401, not 403.
    if (decision.freshness === 'changed' || (decision.freshness === 'unknown' && !caller.fresh)) {
      if (decision.freshness === 'changed') principals.forget(keyHash);
      caller = await principals.ask(keyHash, response.locals.requestId);
      const wasRefused = refusal !== undefined;
      refusal = this.#refusalOf(caller, response, endpoint);
      if (wasRefused && !refusal) decision = await limit(false);
    }
    if (refusal) throw refusal;
    const { limits } = caller;
    setLimitHeaders(response, decision, limits.rateLimitWindowSeconds);
    checkLimits(decision, limits.rateLimitWindowSeconds);
    keyUses.note(caller.principal, response.locals.client().address, request.headers['user-agent']);
    return caller;
  }

  /** Returns the 403 error for a caller outside the allowlist of its key, or without the required permission. */
  #refusalOf(caller: Caller, response: ApiResponse, endpoint: Endpoint | undefined): RmsError | undefined {
    return (
      checkAllowlist(caller, response.locals, this.#parts.log) ??
      (endpoint && checkPermission(caller, endpoint.permission))
    );
  }

  /**
   * Counts a failed authentication. A key that exists but is no longer valid does not count, because it was not
   * guessed.
   */
  async #counted(error: RmsError, response: ApiResponse): Promise<RmsError> {
    const { failures, metrics } = this.#parts;
    let refusal = error;
    if (error.kind.httpStatus === 401 && !(error instanceof KeyRefusal && error.exists)) {
      await failures.count(response.locals.client().address).catch((tooMany: unknown) => {
        refusal = toRmsError(tooMany);
      });
    }
    metrics.countRefusedAuthentication(refusal.code);
    return refusal;
  }
}

/** The scheme is case-insensitive (RFC 9110, 11.1); the key is not. */
const bearer = /^Bearer +(\S+)$/i;

/**
 * Returns the key's hash in `Authorization: Bearer <key>`. Rejects typos, keys of the other environment and
 * missing prefixes by their format, without a lookup. So the messages reveal
 * nothing about stored keys.
 */
export function keyHashOf({ headers }: IncomingMessage, environment: Environment): Buffer {
  const { authorization = '' } = headers;
  if (authorization === '')
    throw badKey('The Authorization header is missing. Send `Authorization: Bearer <API_KEY>`.');
  const key = bearer.exec(authorization)?.[1];
  if (key === undefined) throw badKey('The Authorization header must have the form `Bearer <API_KEY>`.');
  const prefix = keyPrefixes[environment];
  const named = environmentOfApiKey(key);
  if (named !== undefined && named !== environment) {
    throw badKey(
      `A ${named} key (\`${keyPrefixes[named]}\`) does not work here: this address serves the ${environment} ` +
        `environment. Use a key that starts with \`${prefix}\`, or the address of the ${named} environment.`,
    );
  }
  if (!isWellFormedApiKey(key, environment)) {
    throw badKey(`The API key is malformed. Check that it is complete, without typos, and starts with \`${prefix}\`.`);
  }
  return hashOfApiKey(key);
}

function badKey(message: string): RmsError {
  return new RmsError('invalid_api_key', { message });
}

const shownOfHeader = 200;

/**
 * Returns the error for a client address that the key does not allow. The log entry contains the address, its source
 * and the reason for choosing it.
 */
function checkAllowlist({ allowedIps, principal }: Caller, locals: Locals, log: Logger): RmsError | undefined {
  if (allowedIps.empty) return undefined;
  const { address, determinedBy, peer, reason, forwarded } = locals.client();
  if (allowedIps.has(address)) return undefined;
  log.warn(
    {
      request_id: locals.requestId,
      key_id: principal.keyId,
      address,
      determined_by: determinedBy,
      peer,
      reason,
      ...(forwarded === undefined ? {} : { forwarded_for: forwarded.slice(0, shownOfHeader) }),
    },
    'address outside the allowlist of the key',
  );
  return new RmsError('ip_not_allowed', {
    message: `The API key may not be used from ${address}. Add the address to its IP allowlist, or use another key.`,
  });
}

/** Returns the error for a key without the required permission. It contains the required one and the key's own. */
function checkPermission({ grant: key }: Caller, required: Permission): RmsError | undefined {
  if (keyMay(key, required)) return undefined;
  const message =
    key.scope === 'restricted'
      ? `Permission \`${required}\` is required; this key has ${key.permissions.map((name) => `\`${name}\``).join(', ')}.`
      : `Scope \`${leastScopeFor(required)}\` is required; this key has \`${key.scope}\`.`;
  return new RmsError('insufficient_scope', { message });
}

/** Sets the rate limit headers (draft-ietf-httpapi-ratelimit-headers, and the older X-RateLimit-*). */
export function setLimitHeaders(response: ServerResponse, decision: LimitDecision, windowSeconds: number): void {
  const policies: string[] = [];
  const states: string[] = [];
  const add = (name: string, { limit, remaining, resetSeconds }: LimitState, window: string) => {
    policies.push(`"${name}";q=${limit}${window}`);
    states.push(`"${name}";r=${remaining};t=${resetSeconds}`);
  };
  if (decision.rate) {
    add('rate', decision.rate, `;w=${windowSeconds}`);
    response.setHeader('X-RateLimit-Limit', decision.rate.limit);
    response.setHeader('X-RateLimit-Remaining', decision.rate.remaining);
    response.setHeader('X-RateLimit-Reset', decision.rate.resetSeconds);
  }
  if (decision.workspaceRate) add('workspace', decision.workspaceRate, `;w=${windowSeconds}`);
  if (decision.quota) add('month', decision.quota, '');
  if (policies.length === 0) return;
  response.setHeader('RateLimit-Policy', policies.join(', '));
  response.setHeader('RateLimit', states.join(', '));
}

/**
 * Throws `rate_limit_exceeded` or `quota_exceeded`, with the exact time to wait for Retry-After. The message identifies
 * the limit and when it resets.
 * @param own the subject of the key's rate limit
 */
export function checkLimits(decision: LimitDecision, windowSeconds: number, own = 'this key'): void {
  if (decision.outcome === 'allowed') return;
  const { retryAfterSeconds } = decision;
  if (decision.outcome === 'quota_exceeded') {
    const { quota } = decision;
    if (!quota) throw new RmsError('quota_exceeded', { retryAfterSeconds });
    const month = monthAfter(Date.now() + (quota.resetSeconds * 1_000) / 2);
    const message = `The monthly quota of ${quota.limit} requests of this workspace and environment is exhausted. It resets on ${month}.`;
    throw new RmsError('quota_exceeded', { retryAfterSeconds, message });
  }
  const reached = [
    ...describeReached(own, decision.rate, windowSeconds),
    ...describeReached('all keys of this workspace and environment', decision.workspaceRate, windowSeconds),
  ];
  if (reached.length === 0) throw new RmsError('rate_limit_exceeded', { retryAfterSeconds });
  const message = `Rate limit reached: ${reached.join(', and ')}. Retry in ${retryAfterSeconds} s.`;
  throw new RmsError('rate_limit_exceeded', { retryAfterSeconds, message });
}

/** Describes a limit without remaining requests: one item. Otherwise returns no items. */
function describeReached(what: string, state: LimitState | undefined, windowSeconds: number): string[] {
  if (state?.remaining !== 0) return [];
  const requests = state.limit === 1 ? '1 request' : `${state.limit} requests`;
  return [`${requests} per ${windowSeconds} s for ${what} (resets in ${state.resetSeconds} s)`];
}

/** Returns the first day of the next month (UTC): "2026-12-01". */
function monthAfter(ms: number): string {
  const date = new Date(ms);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)).toISOString().slice(0, 10);
}
