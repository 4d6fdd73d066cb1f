import { describeWith, waitUntil } from '@rms/testkit';
import { marksTrustMs } from '../src/limiter.ts';
import { check, openRedisBench, type RedisBench, timeOf } from './redis-support.ts';

const confirmedKey = 'rms:marks-confirmed';

describeWith('redis-server', 'marks in Redis', () => {
  let bench: RedisBench;
  beforeEach(async () => {
    bench = await openRedisBench();
  });
  afterEach(() => bench.stop());

  const confirmedUntil = () => bench.raw((redis) => redis.pexpiretime(confirmedKey));

  test('nobody can say whether a key has changed until an auth instance has vouched for the marks', async () => {
    const limiter = await bench.open();
    expect(await bench.standingOf(limiter)).toBe('unknown');
    await bench.auth.mark([{ ...check, version: 2 }]);
    expect(await bench.standingOf(limiter)).toBe('changed');
    await bench.vouch();
    await bench.becomes(limiter, 'current');
  });

  test('trust ends where nobody vouches any more, and begins again; listeners hear of the beginning', async () => {
    const limiter = await bench.openTrusting();
    let lost = 0;
    limiter.onMarksLost(() => {
      lost += 1;
    });
    expect(await bench.standingOf(limiter)).toBe('current');
    await bench.becomes(limiter, 'unknown');
    expect(lost).toBe(0);
    await bench.becomesTrusting(limiter);
    expect(lost).toBe(1);
  });

  test('trust goes on while one of two auth instances vouches', async () => {
    const other = await bench.open();
    const limiter = await bench.openTrusting();
    await bench.auth.stop();
    const ends = await confirmedUntil();
    await waitUntil(
      async () => {
        await other.confirmMarks(async () => {});
        if ((await bench.standingOf(limiter, { ...check, keyId: `key_${Math.random()}` })) !== 'current') {
          throw new Error('the marks were not trusted');
        }
        return (await bench.raw(timeOf)) > ends + 500;
      },
      { what: 'the trust in the first instance to have ended', everyMs: 250 },
    );
    expect(await bench.standingOf(limiter)).toBe('current');
  });

  test('marks that could not all be set are not vouched for', async () => {
    await expect(bench.auth.confirmMarks(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await bench.raw((redis) => redis.exists(confirmedKey))).toBe(0);
    expect(await bench.standingOf(await bench.open())).toBe('unknown');
  });

  test('trust is counted from before the marks were read, however long setting them takes', async () => {
    let readAtMs = 0;
    await bench.auth.confirmMarks(async () => {
      readAtMs = await bench.raw(timeOf);
      await waitUntil(async () => (await bench.raw(timeOf)) > readAtMs + 1_000, { what: 'a second to pass' });
    });
    expect(await confirmedUntil()).toBeLessThanOrEqual(readAtMs + marksTrustMs);
  });

  test('vouching that comes too late vouches for nothing', async () => {
    await bench.auth.confirmMarks(async () => {
      const readAtMs = await bench.raw(timeOf);
      await waitUntil(async () => (await bench.raw(timeOf)) > readAtMs + marksTrustMs, { what: 'the trust to pass' });
    });
    expect(await bench.raw((redis) => redis.exists(confirmedKey))).toBe(0);
    expect(await bench.standingOf(await bench.open())).toBe('unknown');
  });

  test('vouching that a frozen Redis hears of when it goes on prolongs no trust', async () => {
    let readAtMs = 0;
    const vouching = bench.auth.confirmMarks(async () => {
      readAtMs = await bench.raw(timeOf);
      bench.server.pause();
    });
    await expect(vouching).rejects.toThrow('did not answer');
    bench.server.resume();
    const until = await bench.raw(async (redis) => {
      await waitUntil(async () => (await redis.exists(confirmedKey)) === 1, { what: 'what was sent to be heard' });
      return redis.pexpiretime(confirmedKey);
    });
    expect(until).toBeLessThanOrEqual(readAtMs + marksTrustMs);
  });

  test('what was vouched for on another server says nothing about this one', async () => {
    // As on a replica that takes over: it may lack marks that were set last.
    await bench.raw((redis) => redis.set(confirmedKey, 'another-run-id', 'PX', marksTrustMs));
    const limiter = await bench.open();
    expect(await bench.standingOf(limiter)).toBe('unknown');
    await bench.becomesTrusting(limiter);
  });

  test('a mark that cannot be set is rejected', async () => {
    bench.server.pause();
    await expect(bench.auth.mark([{ ...check, version: 2 }])).rejects.toThrow();
    await expect(bench.vouch()).rejects.toThrow();
    bench.server.resume();
    await bench.server.kill();
    await expect(bench.auth.mark([{ ...check, version: 2 }])).rejects.toThrow();
    await expect(bench.vouch()).rejects.toThrow();
  });

  test('a Redis that was killed and has come back empty is trusted only when it was vouched for anew', async () => {
    const limiter = await bench.openTrusting();
    await bench.auth.mark([{ ...check, version: 2 }]);
    let lost = 0;
    limiter.onMarksLost(() => {
      lost += 1;
    });
    await bench.server.kill();
    await bench.becomes(limiter, 'unknown');
    expect(await limiter.healthy()).toBe(false);
    const whenGone = lost;
    expect(whenGone).toBeGreaterThan(0);
    await bench.server.restart();
    await waitUntil(() => limiter.healthy(), { what: 'Redis to answer' });
    await waitUntil(() => lost > whenGone, { what: 'the new server to be noticed' });
    expect(await bench.standingOf(limiter)).toBe('unknown');
    await bench.becomesTrusting(limiter, check);
  });

  test('when Redis was flushed listeners hear that marks were lost, and none are trusted until vouched for anew', async () => {
    const limiter = await bench.openTrusting();
    let lost = 0;
    const end = limiter.onMarksLost(() => {
      lost += 1;
    });
    await bench.raw((redis) => redis.flushall());
    await waitUntil(() => lost > 0, { what: 'the loss to be noticed' });
    expect(await bench.standingOf(limiter)).toBe('unknown');
    end();
    const heard = lost;
    await bench.becomesTrusting(limiter);
    expect(lost).toBe(heard);
  });
});
