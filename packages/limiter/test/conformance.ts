import { randomUUID } from 'node:crypto';
import type { LimitCheck, Limiter, LimiterOptions } from '../src/limiter.ts';

export interface LimiterUnderTest {
  readonly limiter: Limiter;
  /** Lets time pass for the rate limit of a workspace's keys, and for the failed authentications of an address. */
  pass(seconds: number, of: { workspaceId: string; address: string }): Promise<void>;
}

const none: LimiterOptions = {
  rateLimitRequests: 0,
  rateLimitWindowSeconds: 60,
  monthlyQuota: 0,
  authFailureLimit: 0,
};

/** What every Limiter promises. */
export function describeLimiter(name: string, create: (options: LimiterOptions) => Promise<LimiterUnderTest>): void {
  describe(`${name} keeps the promises of a Limiter:`, () => {
    let limiter: Limiter;
    let pass: (seconds: number) => Promise<void>;
    let check: LimitCheck;
    let address: string;

    const open = async (options: Partial<LimiterOptions>) => {
      const made = await create({ ...none, ...options });
      limiter = made.limiter;
      const workspaceId = `ws_${randomUUID()}`;
      check = { workspaceId, environment: 'live', keyId: `key_${randomUUID()}`, keyVersion: 1 };
      address = `address-${randomUUID()}`;
      pass = (seconds) => made.pass(seconds, { workspaceId, address });
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

    test('a quota is raised to what was used, by workspace, environment and month, and never lowered', async () => {
      await open({ monthlyQuota: 5 });
      const use = { workspaceId: check.workspaceId, environment: 'live' as const, monthMs: Date.now() };
      const now = new Date();
      const nextMonthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 3);
      await limiter.raiseQuotas([
        { ...use, used: 3 },
        { ...use, environment: 'sandbox', used: 5 },
        { ...use, monthMs: nextMonthMs, used: 5 },
      ]);
      expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { remaining: 1 } });
      await limiter.raiseQuotas([{ ...use, used: 2 }]);
      expect(await outcomes(2)).toEqual(['allowed', 'quota_exceeded']);
      expect(await outcomes(1, { ...check, environment: 'sandbox' })).toEqual(['quota_exceeded']);
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
      expect(decision).toEqual({ outcome: 'allowed', standing: 'current', rate: undefined, quota: undefined });
      expect(count(await outcomes(200), 'allowed')).toBe(200);
    });

    test('a limit that does not divide its window lets in exactly its number', async () => {
      await open({ rateLimitRequests: 7, rateLimitWindowSeconds: 3_600 });
      expect(count(await outcomes(20), 'allowed')).toBe(7);
    });

    test('limits that a check brings hold in place of those of the installation', async () => {
      await open({ rateLimitRequests: 1, rateLimitWindowSeconds: 3_600, monthlyQuota: 1 });
      const limits = { rateLimitRequests: 3, rateLimitWindowSeconds: 300, monthlyQuota: 100 };
      expect(await limiter.check({ ...check, limits })).toMatchObject({
        rate: { limit: 3, remaining: 2, resetSeconds: 100 },
        quota: { limit: 100, remaining: 99 },
      });
      expect(await outcomes(3, { ...check, limits })).toEqual(['allowed', 'allowed', 'rate_limited']);
      const own = { ...check, keyId: 'key_other', workspaceId: `ws_${randomUUID()}` };
      expect(await outcomes(2, own)).toEqual(['allowed', 'rate_limited']);
      const off = { rateLimitRequests: 0, rateLimitWindowSeconds: 60, monthlyQuota: 0 };
      expect(count(await outcomes(20, { ...own, limits: off }), 'allowed')).toBe(20);
    });

    const standings = (of: LimitCheck, ...versions: number[]) =>
      Promise.all(versions.map(async (keyVersion) => (await limiter.check({ ...of, keyVersion })).standing));

    test('a changed key is found changed from the next check on by who knows an earlier version, and only that key', async () => {
      await open({ rateLimitRequests: 100, monthlyQuota: 100 });
      expect(await standings(check, 1)).toEqual(['current']);
      await limiter.mark([{ ...check, version: 3 }]);
      expect(await standings(check, 1, 2, 3, 4)).toEqual(['changed', 'changed', 'current', 'current']);
      expect(await standings({ ...check, keyId: 'key_other' }, 1)).toEqual(['current']);
      await limiter.mark([{ ...check, version: 4 }]);
      expect(await standings(check, 3, 4)).toEqual(['changed', 'current']);
    });

    test('a mark of an earlier version does not replace that of a later one', async () => {
      await open({});
      await limiter.mark([{ ...check, version: 5 }]);
      await limiter.mark([{ ...check, version: 2 }]);
      expect(await standings(check, 4, 5)).toEqual(['changed', 'current']);
    });

    test('versions are compared as numbers', async () => {
      await open({});
      await limiter.mark([{ ...check, version: 10 }]);
      expect(await standings(check, 9, 10, 11)).toEqual(['changed', 'current', 'current']);
    });

    test('a request that is refused for a limit says as well that the key has changed', async () => {
      await open({ rateLimitRequests: 1, rateLimitWindowSeconds: 3_600, monthlyQuota: 2 });
      await limiter.mark([{ ...check, version: 2 }]);
      const both = async (of: LimitCheck) => {
        const { outcome, standing } = await limiter.check(of);
        return [outcome, standing];
      };
      const other = { ...check, keyId: 'key_other' };
      expect(await both(check)).toEqual(['allowed', 'changed']);
      expect(await both(check)).toEqual(['rate_limited', 'changed']);
      expect(await both(other)).toEqual(['allowed', 'current']);
      await limiter.mark([{ ...check, keyId: 'key_third', version: 2 }]);
      expect(await both({ ...check, keyId: 'key_third' })).toEqual(['quota_exceeded', 'changed']);
    });

    test('marks are vouched for only if all of them could be set', async () => {
      await open({});
      await limiter.confirmMarks(() => limiter.mark([{ ...check, version: 2 }]));
      expect(await standings(check, 1, 2)).toEqual(['changed', 'current']);
      const failure = new Error('a mark could not be set');
      await expect(limiter.confirmMarks(() => Promise.reject(failure))).rejects.toThrow(failure);
    });

    test('failed authentications of an address have a rate of their own', async () => {
      await open({ authFailureLimit: 3, rateLimitRequests: 1 });
      const waits = [];
      for (let i = 0; i < 4; i += 1) waits.push(await limiter.countFailure(address));
      expect(waits).toEqual([0, 0, 0, 20]);
      expect(await limiter.countFailure(`${address}-other`)).toBe(0);
      expect(await outcomes(1)).toEqual(['allowed']);
    });

    test('failures at once: exactly so many as the limit says are let through', async () => {
      await open({ authFailureLimit: 10 });
      const waits = await Promise.all(Array.from({ length: 40 }, () => limiter.countFailure(address)));
      expect(waits.filter((seconds) => seconds === 0)).toHaveLength(10);
    });

    test('an address that has waited as long as it was told may fail once more, and a second earlier it may not', async () => {
      await open({ authFailureLimit: 2 });
      expect([await limiter.countFailure(address), await limiter.countFailure(address)]).toEqual([0, 0]);
      const seconds = await limiter.countFailure(address);
      expect(seconds).toBe(30);
      await pass(seconds - 2);
      expect(await limiter.countFailure(address)).toBeGreaterThan(0);
      await pass(2);
      expect(await limiter.countFailure(address)).toBe(0);
      expect(await limiter.countFailure(address)).toBeGreaterThan(0);
    });

    test('with a limit of 0 an address may fail as often as it likes', async () => {
      await open({});
      const waits = await Promise.all(Array.from({ length: 200 }, () => limiter.countFailure(address)));
      expect(new Set(waits)).toEqual(new Set([0]));
    });
  });
}
