import type { ServerResponse } from 'node:http';
import { RmsError } from '@rms/errors';
import type { LimitDecision, LimitState } from '@rms/limiter';

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

/** Throws `rate_limit_exceeded` or `quota_exceeded`, with the exact time to wait for Retry-After. */
export function checkLimits(decision: LimitDecision): void {
  if (decision.outcome === 'allowed') return;
  const code = decision.outcome === 'rate_limited' ? 'rate_limit_exceeded' : 'quota_exceeded';
  throw new RmsError(code, { retryAfterSeconds: decision.retryAfterSeconds });
}
