import type { KeyEnvironment } from '@rms/api-key';
import { type RmsError, toRmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';
import type { Logger } from '@rms/service';
import type { Request } from 'express';
import type { ApiResponse } from '../http/locals.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Endpoint } from '../routes/endpoint.ts';
import { checkAllowlist } from './allowlist.ts';
import { keyHashOf } from './authenticate.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import type { KeyUses } from './key-uses.ts';
import { checkLimits, setLimitHeaders } from './limits.ts';
import { type Caller, KeyRefusal, type Principals } from './principals.ts';
import type { RequestUsage } from './request-usage.ts';
import { checkScope } from './scope.ts';

export interface AdmissionParts {
  readonly environment: KeyEnvironment;
  readonly principals: Principals;
  readonly limiter: Limiter;
  readonly failures: FailedAuthentications;
  readonly keyUses: KeyUses;
  readonly usage: Pick<RequestUsage, 'follow'>;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Lets a caller in or throws. */
export type Admit = (request: Request, response: ApiResponse, endpoint?: Endpoint) => Promise<Caller>;

/** What every request under /v1 passes, in this order, before anything is said about its path. */
export function createAdmission(parts: AdmissionParts): Admit {
  const { environment, principals, limiter, failures, keyUses, usage, metrics, log } = parts;

  return async (request, response, endpoint) => {
    const { keyHash, caller: found } = await authenticate(request, response);
    let caller = found;
    const { workspaceId, keyId } = caller.principal;
    response.locals.workspaceId = workspaceId;
    response.locals.keyId = keyId;
    usage.follow(response, caller.principal, caller.limits.monthlyQuota);
    response.locals.steps.authenticatedAtMs = performance.now();
    try {
      checkCaller(caller, request, response, endpoint);
    } catch (refusal) {
      // A key that was revoked a moment ago gets 401, not 403: who is refused on a cached verdict is asked about again.
      if (caller.fresh) throw refusal;
      caller = await principals.ask(keyHash, response.locals.requestId);
      checkCaller(caller, request, response, endpoint);
    }
    const { version: keyVersion, limits } = caller;
    const askedAtMs = performance.now();
    const decision = await limiter.check({ workspaceId, environment, keyId, keyVersion, limits });
    response.locals.limitOutcome = decision.outcome;
    metrics.countLimitCheck(decision, performance.now() - askedAtMs);
    response.locals.steps.limitedAtMs = performance.now();
    // Auth has the last word on a key that has changed, and on every key while nobody can say whether it has.
    if (decision.standing === 'changed' || (decision.standing === 'unknown' && !caller.fresh)) {
      if (decision.standing === 'changed') principals.forget(keyHash);
      caller = await principals.ask(keyHash, response.locals.requestId);
      checkCaller(caller, request, response, endpoint);
    }
    keyUses.note(caller.principal, response.locals.client().address, request.headers['user-agent']);
    setLimitHeaders(response, decision, limits.rateLimitWindowSeconds);
    checkLimits(decision);
    return caller;
  };

  /** Whose key it is. Throws a 401, or 429 for an address that has sent too many wrong ones. */
  async function authenticate(request: Request, response: ApiResponse) {
    try {
      const keyHash = keyHashOf(request, environment);
      const known = principals.cached(keyHash);
      if (known) return { keyHash, caller: known };
      failures.admitLookUp(response.locals.client().address);
      return { keyHash, caller: await principals.ask(keyHash, response.locals.requestId) };
    } catch (thrown) {
      throw await counted(toRmsError(thrown), response);
    }
  }

  /** A key that exists and is not let in any more is nobody's guess. */
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

  function checkCaller(caller: Caller, request: Request, response: ApiResponse, endpoint: Endpoint | undefined): void {
    checkAllowlist(caller, request, response.locals, log);
    if (endpoint) checkScope(caller, endpoint.scope);
  }
}
