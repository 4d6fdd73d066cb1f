import type { Endpoint } from '@rms/api';
import { type RmsError, toRmsError } from '@rms/base/errors';
import type { Environment } from '@rms/base/tenant';
import type { Limiter } from '@rms/limits';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { ApiResponse } from '../http/locals.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { checkAllowlist } from './allowlist.ts';
import { keyHashOf } from './authenticate.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import type { KeyUses } from './key-uses.ts';
import { type Caller, KeyRefusal, type Principals } from './principals.ts';
import { checkLimits, setLimitHeaders } from './rate-limit-and-quota.ts';
import type { RequestUsage } from './request-usage.ts';
import { checkScope } from './scope.ts';

export interface AdmissionParts {
  readonly environment: Environment;
  readonly principals: Principals;
  readonly limiter: Limiter;
  readonly failures: FailedAuthentications;
  readonly keyUses: KeyUses;
  readonly usage: Pick<RequestUsage, 'follow'>;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Authenticates and authorizes a request and returns its caller. Throws if the request is refused. */
export type Admit = (request: Request, response: ApiResponse, endpoint?: Endpoint) => Promise<Caller>;

/** Creates the checks that every request under /v1 must pass before its response may reveal whether the path exists. */
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

  /** Checks a caller's address, scope and limits. Returns the caller by the newest verdict. */
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

  /** Returns the 403 error for a caller outside the allowlist of its key, or without the required scope. */
  function refusalOf(caller: Caller, response: ApiResponse, endpoint: Endpoint | undefined): RmsError | undefined {
    return checkAllowlist(caller, response.locals, log) ?? (endpoint && checkScope(caller, endpoint.scope));
  }
}
