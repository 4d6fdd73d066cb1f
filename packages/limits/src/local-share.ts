import type { Limiter, LimiterOptions } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';

/**
 * Creates the limiter for outages of Redis: each gateway grants an equal share of the limits and does not count the
 * quota.
 */
export function createLocalShare(options: LimiterOptions, members: () => number) {
  const share = (limit: number, among: number) => (limit === 0 ? 0 : Math.ceil(limit / among));
  let current = { members: 0, limiter: createMemoryLimiter(options) };
  return (): Pick<Limiter, 'check' | 'countFailure'> => {
    const among = members();
    if (current.members !== among) {
      const authFailureLimit = share(options.authFailureLimit, among);
      current = { members: among, limiter: createMemoryLimiter({ ...options, authFailureLimit }) };
    }
    const { limiter } = current;
    return {
      check(check) {
        const { rateLimitRequests, workspaceRateLimitRequests, rateLimitWindowSeconds } = check.limits ?? options;
        const limits = {
          rateLimitRequests: share(rateLimitRequests, among),
          workspaceRateLimitRequests: share(workspaceRateLimitRequests, among),
          rateLimitWindowSeconds,
          monthlyQuota: 0,
        };
        return limiter.check({ ...check, limits });
      },
      countFailure: limiter.countFailure,
    };
  };
}
