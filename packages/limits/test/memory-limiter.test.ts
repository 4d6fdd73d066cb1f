import { noLimits } from '@rms/testkit';
import { createMemoryLimiter } from '../src/memory-limiter.ts';
import { describeLimiter } from './conformance.ts';

describeLimiter('in memory', async (options) => {
  let nowMs = Date.now();
  return {
    limiter: createMemoryLimiter({ ...options, now: () => nowMs }),
    async pass(seconds) {
      nowMs += seconds * 1_000;
    },
  };
});

test('the quota is reset at the start of each month, in UTC', async () => {
  let nowMs = Date.UTC(2026, 11, 31, 23, 59, 30);
  const limiter = createMemoryLimiter({
    ...noLimits,
    monthlyQuota: 1,
    now: () => nowMs,
  });
  const check = { workspaceId: 'ws_1', environment: 'live', keyId: 'key_1', keyVersion: 1 } as const;
  expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed' });
  expect(await limiter.check(check)).toMatchObject({ outcome: 'quota_exceeded', retryAfterSeconds: 30 });
  nowMs += 30_000;
  expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed' });
});

test('a full burst is allowed at any fraction of a microsecond', async () => {
  let nowMs = 0;
  const limiter = createMemoryLimiter({
    rateLimitRequests: 1,
    workspaceRateLimitRequests: 0,
    rateLimitWindowSeconds: 3_600,
    monthlyQuota: 0,
    authFailureLimit: 0,
    now: () => nowMs,
  });
  for (let i = 0; i < 1_000; i += 1) {
    nowMs = 20_000 + i * 97.123456789;
    const check = { workspaceId: 'ws_1', environment: 'live', keyId: `key_${i}`, keyVersion: 1 } as const;
    expect([i, (await limiter.check(check)).outcome]).toEqual([i, 'allowed']);
  }
});
