import type { Endpoint } from '@rms/api';
import { RmsError, toRmsError } from '@rms/base/errors';
import { keyMay, leastScopeFor, type Permission } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';
import type { Limiter } from '@rms/limits';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { ApiResponse, Locals } from '../http/locals.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { keyHashOf } from './authenticate.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import type { KeyUses } from './key-uses.ts';
import { type Caller, KeyRefusal, type Principals } from './principals.ts';
import { checkLimits, setLimitHeaders } from './rate-limit-and-quota.ts';
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

/** Authenticates and authorizes a request and returns its caller. Throws if the request is refused. */
export type Admit = (request: Request, response: ApiResponse, endpoint?: Endpoint) => Promise<Caller>;

/**
 * Creates the checks that every request under /v1 must pass before its response may reveal whether the path exists, in
 * this order:
 *
 * 1. 429 for an address with too many failed authentications, unless the key was valid recently
 * 2. 401: the key's form, then its verdict, from the cache or by auth
 * 3. 403: the key's allowlist, then the permission that the endpoint requires
 * 4. 429: rate limits and quota, in one round trip with the revocation marker; a 403 takes from its own limit
 *
 * If the marker shows that the key has changed, step 3 is repeated with a new verdict of auth.
 */
export function createAdmission(parts: AdmissionParts): Admit {
  const { environment, principals, limiter, failures, keyUses, usage, metrics, log } = parts;

  return async (request, response, endpoint) => {
    const { keyHash, caller } = await authenticate(request, response);
    try {
      return await authorize({ keyHash, caller }, request, response, endpoint);
    } catch (thrown) {
      const { code, kind } = toRmsError(thrown);
      if (kind.httpStatus < 500) keyUses.noteRefusal(caller.principal, code);
      throw thrown;
    }
  };

  /** Checks a caller's address, permission and limits. Returns the caller by the newest verdict. */
  async function authorize(
    { keyHash, caller: found }: { readonly keyHash: Buffer; readonly caller: Caller },
    request: Request,
    response: ApiResponse,
    endpoint: Endpoint | undefined,
  ): Promise<Caller> {
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
    let refusal = refusalOf(caller, response, endpoint);
    let decision = await limit(refusal !== undefined);
    // Auth decides about a key that has changed, and about every key while the revocation markers are not trusted: a
    // key revoked a moment ago must get 401, not 403.
    if (decision.freshness === 'changed' || (decision.freshness === 'unknown' && !caller.fresh)) {
      if (decision.freshness === 'changed') principals.forget(keyHash);
      caller = await principals.ask(keyHash, response.locals.requestId);
      const wasRefused = refusal !== undefined;
      refusal = refusalOf(caller, response, endpoint);
      if (wasRefused && !refusal) decision = await limit(false);
    }
    if (refusal) throw refusal;
    const { limits } = caller;
    setLimitHeaders(response, decision, limits.rateLimitWindowSeconds);
    checkLimits(decision, limits.rateLimitWindowSeconds);
    keyUses.note(caller.principal, response.locals.client().address, request.headers['user-agent']);
    return caller;
  }

  /** Returns the key's caller. Throws a 401 error, or a 429 error for an address with too many failures. */
  async function authenticate(request: Request, response: ApiResponse) {
    try {
      const keyHash = keyHashOf(request, environment);
      const known = principals.cached(keyHash);
      if (known) return { keyHash, caller: known };
      // Without this exception, failures of other clients at a shared address would block valid keys.
      if (!principals.wasValid(keyHash)) failures.admitLookup(response.locals.client().address);
      return { keyHash, caller: await principals.ask(keyHash, response.locals.requestId) };
    } catch (thrown) {
      throw await counted(toRmsError(thrown), response);
    }
  }

  /**
   * Counts a failed authentication. A key that exists but is no longer valid does not count, because it was not
   * guessed.
   */
  async function counted(error: RmsError, response: ApiResponse): Promise<RmsError> {
    let refusal = error;
    if (error.kind.httpStatus === 401 && !(error instanceof KeyRefusal && error.exists)) {
      await failures.count(response.locals.client().address).catch((tooMany: unknown) => {
        refusal = toRmsError(tooMany);
      });
    }
    metrics.countRefusedAuthentication(refusal.code);
    return refusal;
  }

  /** Returns the 403 error for a caller outside the allowlist of its key, or without the required permission. */
  function refusalOf(caller: Caller, response: ApiResponse, endpoint: Endpoint | undefined): RmsError | undefined {
    return checkAllowlist(caller, response.locals, log) ?? (endpoint && checkPermission(caller, endpoint.permission));
  }
}

const shownOfHeader = 200;

/**
 * Returns the error for a client address that the key does not allow. The log entry contains the address, its source
 * and the reason for choosing it.
 */
function checkAllowlist(
  { allowedIps, principal }: Pick<Caller, 'allowedIps' | 'principal'>,
  locals: Pick<Locals, 'requestId' | 'client'>,
  log: Logger,
): RmsError | undefined {
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
