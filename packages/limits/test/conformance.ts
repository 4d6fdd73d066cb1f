import { randomUUID } from 'node:crypto';
import { noLimits } from '@rms/testkit';
import type { LimitCheck, Limiter, LimiterOptions } from '../src/limiter.ts';

export interface LimiterUnderTest {
  readonly limiter: Limiter;
  /**
   * Advances the time for a workspace's rate limits and for the failed authentications of an address; negative: sets
   * it back.
   */
  pass(seconds: number, of: { workspaceId: string; address: string }): Promise<void>;
}

/** Tests the contract of Limiter. */
export function describeLimiter(name: string, create: (options: LimiterOptions) => Promise<LimiterUnderTest>): void {
  describe(`${name} as a Limiter:`, () => {
    let limiter: Limiter;
    let pass: (seconds: number) => Promise<void>;
    let check: LimitCheck;
    let address: string;

    const open = async (options: Partial<LimiterOptions>) => {
      const created = await create({ ...noLimits, ...options });
      limiter = created.limiter;
      const workspaceId = `ws_${randomUUID()}`;
      check = { workspaceId, environment: 'live', keyId: `key_${randomUUID()}`, keyVersion: 1 };
      address = `address-${randomUUID()}`;
      pass = (seconds) => created.pass(seconds, { workspaceId, address });
    };
    afterEach(() => limiter.stop());
    const outcomes = async (count: number, of: LimitCheck = check) => {
      const decisions = await Promise.all(Array.from({ length: count }, () => limiter.check(of)));
      return decisions.map(({ outcome }) => outcome);
    };
    const own = (rateLimitRequests: number) => ({
      rateLimitRequests,
      workspaceRateLimitRequests: 4,
      rateLimitWindowSeconds: 400,
      monthlyQuota: 0,
    });
    const count = (all: readonly string[], one: string) => all.filter((outcome) => outcome === one).length;

    test('exactly 20 of 50 concurrent requests are allowed with a limit of 20', async () => {
      await open({ rateLimitRequests: 20, rateLimitWindowSeconds: 3_600 });
      const all = await outcomes(50);
      expect(count(all, 'allowed')).toBe(20);
      expect(count(all, 'rate_limited')).toBe(30);
    });

    test('refused requests have a limit of their own, and count toward no other limit', async () => {
      await open({
        rateLimitRequests: 3,
        workspaceRateLimitRequests: 3,
        rateLimitWindowSeconds: 3_600,
        monthlyQuota: 3,
      });
      const refused = await outcomes(5, { ...check, refused: true });
      expect([count(refused, 'allowed'), count(refused, 'rate_limited')]).toEqual([3, 2]);
      const accepted = await outcomes(5);
      expect([count(accepted, 'allowed'), count(accepted, 'rate_limited')]).toEqual([3, 2]);
      await limiter.setMarkers([{ workspaceId: check.workspaceId, keyId: check.keyId, version: 2 }]);
      expect((await limiter.check({ ...check, refused: true })).freshness).toBe('changed');
    });

    test('the next request is allowed after Retry-After, and not a second earlier', async () => {
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

    test('after a clock was set back, requests are allowed at the steady rate', async () => {
      await open({ rateLimitRequests: 2, rateLimitWindowSeconds: 60 });
      expect(await outcomes(1)).toEqual(['allowed']);
      await pass(-3_600);
      expect(await limiter.check(check)).toMatchObject({ outcome: 'rate_limited', retryAfterSeconds: 30 });
      await pass(30);
      expect(await outcomes(2)).toEqual(['allowed', 'rate_limited']);
    });

    test('the remaining rate decreases, and is restored after the window', async () => {
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

    test('each key has a separate rate limit', async () => {
      await open({ rateLimitRequests: 1 });
      expect(await outcomes(1)).toEqual(['allowed']);
      expect(await outcomes(1, { ...check, keyId: 'key_other' })).toEqual(['allowed']);
      expect(await outcomes(1)).toEqual(['rate_limited']);
    });

    test('the keys of a workspace and environment share a rate limit; environments and workspaces do not', async () => {
      await open({ rateLimitRequests: 3, workspaceRateLimitRequests: 4, rateLimitWindowSeconds: 400, monthlyQuota: 4 });
      const other = { ...check, keyId: 'key_other' };
      expect(await outcomes(3)).toEqual(['allowed', 'allowed', 'allowed']);
      expect(await limiter.check(other)).toMatchObject({
        outcome: 'allowed',
        rate: { limit: 3, remaining: 2 },
        workspaceRate: { limit: 4, remaining: 0, resetSeconds: 400 },
      });
      // Rejected requests count neither against the limit of their key nor against the quota.
      for (let i = 0; i < 3; i += 1) {
        expect(await limiter.check(other)).toMatchObject({ outcome: 'rate_limited', retryAfterSeconds: 100 });
      }
      expect(await outcomes(1, { ...check, environment: 'sandbox', keyId: 'key_third' })).toEqual(['allowed']);
      expect(await outcomes(1, { ...check, workspaceId: `ws_${randomUUID()}`, keyId: 'key_4' })).toEqual(['allowed']);
      await pass(134);
      expect(await limiter.check(check)).toMatchObject({ outcome: 'quota_exceeded' });
      // The key's own limit rejects the second request, so it does not count against the workspace's limit.
      await pass(266);
      expect(await outcomes(1, { ...check, limits: own(1) })).toEqual(['allowed']);
      expect(await outcomes(1, { ...check, limits: own(1) })).toEqual(['rate_limited']);
      expect(await limiter.check({ ...other, limits: own(0) })).toMatchObject({ workspaceRate: { remaining: 2 } });
    });

    test('the keys of a workspace and environment share a monthly quota; environments do not', async () => {
      await open({ monthlyQuota: 3 });
      expect(await outcomes(2)).toEqual(['allowed', 'allowed']);
      expect(await outcomes(2, { ...check, keyId: 'key_other' })).toEqual(['allowed', 'quota_exceeded']);
      expect(await outcomes(1, { ...check, environment: 'sandbox' })).toEqual(['allowed']);
      expect(await outcomes(1, { ...check, workspaceId: `ws_${randomUUID()}` })).toEqual(['allowed']);
    });

    test('an exhausted quota returns the time until the end of the month', async () => {
      await open({ monthlyQuota: 2 });
      expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { limit: 2, remaining: 1 } });
      expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { limit: 2, remaining: 0 } });
      const refused = await limiter.check(check);
      if (refused.outcome !== 'quota_exceeded') throw new Error(`the third was ${refused.outcome}`);
      expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(refused.retryAfterSeconds).toBeLessThanOrEqual(31 * 86_400);
      expect(refused.quota).toMatchObject({ limit: 2, remaining: 0, resetSeconds: refused.retryAfterSeconds });
    });

    test('raiseQuotas raises counters per workspace, environment and month, and never lowers them', async () => {
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

    test('a rate-limited request does not count against the quota', async () => {
      await open({ rateLimitRequests: 1, rateLimitWindowSeconds: 100, monthlyQuota: 2 });
      expect(await outcomes(5)).toEqual(['allowed', ...Array(4).fill('rate_limited')]);
      await pass(100);
      expect(await outcomes(1)).toEqual(['allowed']);
    });

    test('a request rejected by the quota does not count against the rate limit', async () => {
      await open({ rateLimitRequests: 3, rateLimitWindowSeconds: 3_600, monthlyQuota: 1 });
      expect(await outcomes(6)).toEqual(['allowed', ...Array(5).fill('quota_exceeded')]);
    });

    test('0 disables a limit', async () => {
      await open({});
      const decision = await limiter.check(check);
      expect(decision).toEqual({ outcome: 'allowed', freshness: 'current' });
      expect(count(await outcomes(200), 'allowed')).toBe(200);
    });

    test('a limit that does not divide its window evenly allows exactly that number of requests', async () => {
      await open({ rateLimitRequests: 7, rateLimitWindowSeconds: 3_600 });
      expect(count(await outcomes(20), 'allowed')).toBe(7);
    });

    test('limits of a check override the limits of the installation', async () => {
      await open({ rateLimitRequests: 1, rateLimitWindowSeconds: 3_600, monthlyQuota: 1 });
      const limits = {
        rateLimitRequests: 3,
        workspaceRateLimitRequests: 0,
        rateLimitWindowSeconds: 300,
        monthlyQuota: 100,
      };
      expect(await limiter.check({ ...check, limits })).toMatchObject({
        rate: { limit: 3, remaining: 2, resetSeconds: 100 },
        quota: { limit: 100, remaining: 99 },
      });
      expect(await outcomes(3, { ...check, limits })).toEqual(['allowed', 'allowed', 'rate_limited']);
      const own = { ...check, keyId: 'key_other', workspaceId: `ws_${randomUUID()}` };
      expect(await outcomes(2, own)).toEqual(['allowed', 'rate_limited']);
      const off = { rateLimitRequests: 0, workspaceRateLimitRequests: 0, rateLimitWindowSeconds: 60, monthlyQuota: 0 };
      expect(count(await outcomes(20, { ...own, limits: off }), 'allowed')).toBe(20);
    });

    const freshnessOfVersions = (of: LimitCheck, ...versions: number[]) =>
      Promise.all(versions.map(async (keyVersion) => (await limiter.check({ ...of, keyVersion })).freshness));

    test('only a changed key is reported as changed, to callers with an earlier version', async () => {
      await open({ rateLimitRequests: 100, monthlyQuota: 100 });
      expect(await freshnessOfVersions(check, 1)).toEqual(['current']);
      await limiter.setMarkers([{ ...check, version: 3 }]);
      expect(await freshnessOfVersions(check, 1, 2, 3, 4)).toEqual(['changed', 'changed', 'current', 'current']);
      expect(await freshnessOfVersions({ ...check, keyId: 'key_other' }, 1)).toEqual(['current']);
      await limiter.setMarkers([{ ...check, version: 4 }]);
      expect(await freshnessOfVersions(check, 3, 4)).toEqual(['changed', 'current']);
    });

    test('a marker of an earlier version does not replace a later one', async () => {
      await open({});
      await limiter.setMarkers([{ ...check, version: 5 }]);
      await limiter.setMarkers([{ ...check, version: 2 }]);
      expect(await freshnessOfVersions(check, 4, 5)).toEqual(['changed', 'current']);
    });

    test('versions are compared as numbers', async () => {
      await open({});
      await limiter.setMarkers([{ ...check, version: 10 }]);
      expect(await freshnessOfVersions(check, 9, 10, 11)).toEqual(['changed', 'current', 'current']);
    });

    test('a rejected request also reports that the key has changed', async () => {
      await open({ rateLimitRequests: 1, rateLimitWindowSeconds: 3_600, monthlyQuota: 2 });
      await limiter.setMarkers([{ ...check, version: 2 }]);
      const both = async (of: LimitCheck) => {
        const { outcome, freshness } = await limiter.check(of);
        return [outcome, freshness];
      };
      const other = { ...check, keyId: 'key_other' };
      expect(await both(check)).toEqual(['allowed', 'changed']);
      expect(await both(check)).toEqual(['rate_limited', 'changed']);
      expect(await both(other)).toEqual(['allowed', 'current']);
      await limiter.setMarkers([{ ...check, keyId: 'key_third', version: 2 }]);
      expect(await both({ ...check, keyId: 'key_third' })).toEqual(['quota_exceeded', 'changed']);
    });

    test('markers are confirmed only if all of them were set', async () => {
      await open({});
      const changes = [{ ...check, version: 2 }];
      let done: readonly object[] = [];
      await limiter.confirmMarkers(async (set) => {
        done = await set(changes);
      });
      expect(done).toEqual(changes);
      expect(await freshnessOfVersions(check, 1, 2)).toEqual(['changed', 'current']);
      const failure = new Error('a marker could not be set');
      await expect(limiter.confirmMarkers(() => Promise.reject(failure))).rejects.toThrow(failure);
    });

    test('each address has a separate limit of failed authentications', async () => {
      await open({ authFailureLimit: 3, rateLimitRequests: 1 });
      const waits = [];
      for (let i = 0; i < 4; i += 1) waits.push(await limiter.countFailure(address));
      expect(waits).toEqual([0, 0, 0, 20]);
      expect(await limiter.countFailure(`${address}-other`)).toBe(0);
      expect(await outcomes(1)).toEqual(['allowed']);
    });

    test('concurrent failures: exactly the limit is allowed', async () => {
      await open({ authFailureLimit: 10 });
      const waits = await Promise.all(Array.from({ length: 40 }, () => limiter.countFailure(address)));
      expect(waits.filter((seconds) => seconds === 0)).toHaveLength(10);
    });

    test('an address may fail again after its waiting time, and not a second earlier', async () => {
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

    test('after a clock was set back, an address waits for its next failure at the steady rate', async () => {
      await open({ authFailureLimit: 2 });
      expect(await limiter.countFailure(address)).toBe(0);
      await pass(-3_600);
      expect(await limiter.countFailure(address)).toBe(30);
      await pass(30);
      expect(await limiter.countFailure(address)).toBe(0);
    });

    test('with a limit of 0, failures are unlimited', async () => {
      await open({});
      const waits = await Promise.all(Array.from({ length: 200 }, () => limiter.countFailure(address)));
      expect(new Set(waits)).toEqual(new Set([0]));
    });
  });
}
