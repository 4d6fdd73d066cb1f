import type { ServerResponse } from 'node:http';
import { RmsError } from '@rms/base/errors';
import type { LimitDecision, LimitState } from '@rms/limits';

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
