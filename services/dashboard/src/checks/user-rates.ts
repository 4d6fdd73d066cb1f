import { RmsError, tryAgainIn } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { createMemoryLimiter, type LimitCheck, type Limits } from '@rms/limits';

/**
 * Limits the calls of signed-in users at this instance. Pages stay far below the limits; a script with the session of a
 * user would otherwise have no limit, whereas API keys have one.
 */
export interface UserRates {
  /** Counts a user's call. Throws `rate_limit_exceeded`. */
  takeUser(userId: string): Promise<void>;
  /** Counts a call of any user in a workspace and environment. Throws `rate_limit_exceeded`. */
  takeTenant(tenant: Tenant): Promise<void>;
}

/** Calls per minute. A user can have many tabs, and each reads several lists every few seconds. */
const ofUser = 1_200;
const ofTenant = 6_000;
const windowSeconds = 60;

const none: Limits = {
  rateLimitRequests: 0,
  workspaceRateLimitRequests: 0,
  rateLimitWindowSeconds: windowSeconds,
  monthlyQuota: 0,
};
const userLimits: Limits = { ...none, rateLimitRequests: ofUser };
const tenantLimits: Limits = { ...none, workspaceRateLimitRequests: ofTenant };

export function createUserRates(): UserRates {
  const limiter = createMemoryLimiter({ ...none, authFailureLimit: 0 });
  const take = async (call: Omit<LimitCheck, 'keyVersion'>, exceeded: string) => {
    const decision = await limiter.check({ ...call, keyVersion: 0 });
    if (decision.outcome === 'allowed') return;
    const { retryAfterSeconds } = decision;
    throw new RmsError('rate_limit_exceeded', {
      message: `${exceeded} ${tryAgainIn(retryAfterSeconds)}`,
      retryAfterSeconds,
    });
  };
  return {
    takeUser: (userId) =>
      take(
        { workspaceId: '', environment: 'live', keyId: userId, limits: userLimits },
        `You have made too many requests (limit: ${ofUser} per minute).`,
      ),
    takeTenant: (tenant) =>
      take(
        { ...tenant, keyId: '', limits: tenantLimits },
        `The members of this workspace have made too many requests in this environment (limit: ${ofTenant} per minute).`,
      ),
  };
}
