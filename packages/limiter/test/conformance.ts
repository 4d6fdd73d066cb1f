import { randomUUID } from 'node:crypto';
import type { LimitCheck, Limiter, LimiterOptions } from '../src/limiter.ts';

export interface LimiterUnderTest {
  readonly limiter: Limiter;
  /** Lets time pass for the rate limit of a workspace's keys. */
  pass(seconds: number, workspaceId: string): Promise<void>;
}

const none: LimiterOptions = { rateLimitRequests: 0, rateLimitWindowSeconds: 60, monthlyQuota: 0 };

/** What every Limiter promises. */
export function describeLimiter(name: string, create: (options: LimiterOptions) => Promise<LimiterUnderTest>): void {
  describe(`${name} keeps the promises of a Limiter:`, () => {
    let limiter: Limiter;
    let pass: (seconds: number) => Promise<void>;
    let check: LimitCheck;

    const open = async (options: Partial<LimiterOptions>) => {
      const made = await create({ ...none, ...options });
      limiter = made.limiter;
      check = { workspaceId: `ws_${randomUUID()}`, environment: 'live', keyId: `key_${randomUUID()}` };
      pass = (seconds) => made.pass(seconds, check.workspaceId);
    };
    afterEach(() => limiter.stop());
    const outcomes = async (count: number, of: LimitCheck = check) => {
      const decisions = await Promise.all(Array.from({ length: count }, () => limiter.check(of)));
      return decisions.map(({ outcome }) => outcome);
    };
    const count = (all: readonly string[], one: string) => all.filter((outcome) => outcome === one).length;

    test('of 50 requests at once with a limit of 20, exactly 20 are let in', async () => {
      await open({ rateLimitRequests: 20, rateLimitWindowSeconds: 3_600 });
      const all = await outcomes(50);
      expect(count(all, 'allowed')).toBe(20);
      expect(count(all, 'rate_limited')).toBe(30);
    });

    test('waiting exactly as long as Retry-After says lets the next request in, and a second less does not', async () => {
      await open({ rateLimitRequests: 2, rateLimitWindowSeconds: 600 });
      expect(await outcomes(2)).toEqual(['allowed', 'allowed']);
      const refused = await limiter.check(check);
      if (refused.outcome !== 'rate_limited') throw new Error(`the third was ${refused.outcome}`);
      expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      await pass(refused.retryAfterSeconds - 2);
      expect(await outcomes(1)).toEqual(['rate_limited']);
      await pass(2);
      expect(await outcomes(2)).toEqual(['allowed', 'rate_limited']);
    });

    test('the state of the rate limit counts down, and is whole again after the window', async () => {
      await open({ rateLimitRequests: 3, rateLimitWindowSeconds: 300 });
      const states = [];
      for (let i = 0; i < 4; i += 1) {
        const decision = await limiter.check(check);
        states.push('rate' in decision ? decision.rate : undefined);
      }
      expect(states).toMatchObject([2, 1, 0, 0].map((remaining) => ({ limit: 3, remaining })));
      expect(states.map((state) => state?.resetSeconds)).toEqual([100, 200, 300, 300]);
      await pass(300);
      expect(await limiter.check(check)).toMatchObject({ rate: { remaining: 2 } });
    });

    test('each key has a rate limit of its own', async () => {
      await open({ rateLimitRequests: 1 });
      expect(await outcomes(1)).toEqual(['allowed']);
      expect(await outcomes(1, { ...check, keyId: 'key_other' })).toEqual(['allowed']);
      expect(await outcomes(1)).toEqual(['rate_limited']);
    });

    test('all keys of a workspace and environment share its monthly quota; other environments have their own', async () => {
      await open({ monthlyQuota: 3 });
      expect(await outcomes(2)).toEqual(['allowed', 'allowed']);
      expect(await outcomes(2, { ...check, keyId: 'key_other' })).toEqual(['allowed', 'quota_exceeded']);
      expect(await outcomes(1, { ...check, environment: 'sandbox' })).toEqual(['allowed']);
      expect(await outcomes(1, { ...check, workspaceId: `ws_${randomUUID()}` })).toEqual(['allowed']);
    });

    test('a spent quota says how long the month still lasts', async () => {
      await open({ monthlyQuota: 2 });
      expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { limit: 2, remaining: 1 } });
      expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { limit: 2, remaining: 0 } });
      const refused = await limiter.check(check);
      if (refused.outcome !== 'quota_exceeded') throw new Error(`the third was ${refused.outcome}`);
      expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(refused.retryAfterSeconds).toBeLessThanOrEqual(31 * 86_400);
      expect(refused.quota).toMatchObject({ limit: 2, remaining: 0, resetSeconds: refused.retryAfterSeconds });
    });

    test('a request refused by the rate limit does not count against the quota', async () => {
      await open({ rateLimitRequests: 1, rateLimitWindowSeconds: 100, monthlyQuota: 2 });
      expect(await outcomes(5)).toEqual(['allowed', ...Array(4).fill('rate_limited')]);
      await pass(100);
      expect(await outcomes(1)).toEqual(['allowed']);
    });

    test('a request refused by the quota does not count against the rate limit', async () => {
      await open({ rateLimitRequests: 3, rateLimitWindowSeconds: 3_600, monthlyQuota: 1 });
      expect(await outcomes(6)).toEqual(['allowed', ...Array(5).fill('quota_exceeded')]);
    });

    test('0 switches a limit off', async () => {
      await open({});
      const decision = await limiter.check(check);
      expect(decision).toEqual({ outcome: 'allowed', rate: undefined, quota: undefined });
      expect(count(await outcomes(200), 'allowed')).toBe(200);
    });

    test('a limit that does not divide its window lets in exactly its number', async () => {
      await open({ rateLimitRequests: 7, rateLimitWindowSeconds: 3_600 });
      expect(count(await outcomes(20), 'allowed')).toBe(7);
    });

    test('a revoked key is refused from the next check on, and only that key', async () => {
      await open({ rateLimitRequests: 100, monthlyQuota: 100 });
      expect(await outcomes(1)).toEqual(['allowed']);
      await limiter.markRevoked([check]);
      expect(await outcomes(3)).toEqual(['revoked', 'revoked', 'revoked']);
      expect(await outcomes(1, { ...check, keyId: 'key_other' })).toEqual(['allowed']);
    });
  });
}
