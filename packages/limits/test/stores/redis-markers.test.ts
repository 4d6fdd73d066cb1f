import { describeWith, perTest, waitUntil } from '@rms/testkit';
import { markersTrustMs } from '../../src/limiter.ts';
import { check, openRedisBench, timeOf } from './redis-support.ts';

const confirmedKey = 'rms:marks-confirmed';

describeWith('redis-server', 'revocation markers in Redis', () => {
  const bench = perTest(openRedisBench);

  const confirmedUntil = () => bench.raw((redis) => redis.pexpiretime(confirmedKey));

  test('the freshness of a key is unknown until an auth instance has confirmed the markers', async () => {
    const limiter = await bench.open();
    expect(await bench.freshnessOf(limiter)).toBe('unknown');
    await bench.auth.setMarkers([{ ...check, version: 2 }]);
    expect(await bench.freshnessOf(limiter)).toBe('changed');
    await bench.confirm();
    await bench.becomes(limiter, 'current');
  });

  test('trust ends without confirmations and starts with the next one; listeners are notified of the start', async () => {
    const limiter = await bench.openTrusting();
    let lost = 0;
    limiter.onMarkersLost(() => {
      lost += 1;
    });
    expect(await bench.freshnessOf(limiter)).toBe('current');
    await bench.becomes(limiter, 'unknown');
    expect(lost).toBe(0);
    await bench.becomesTrusting(limiter);
    expect(lost).toBe(1);
  });

  test('trust continues while one of two auth instances confirms', async () => {
    const other = await bench.open();
    const limiter = await bench.openTrusting();
    await bench.auth.stop();
    const ends = await confirmedUntil();
    await waitUntil(
      async () => {
        await other.confirmMarkers(async () => {});
        if ((await bench.freshnessOf(limiter, { ...check, keyId: `key_${Math.random()}` })) !== 'current') {
          throw new Error('the markers were not trusted');
        }
        return (await bench.raw(timeOf)) > ends + 500;
      },
      { what: 'the trust of the first instance to end', everyMs: 250 },
    );
    expect(await bench.freshnessOf(limiter)).toBe('current');
  });

  test('markers are not confirmed if setting one fails', async () => {
    await expect(bench.auth.confirmMarkers(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await bench.raw((redis) => redis.exists(confirmedKey))).toBe(0);
    expect(await bench.freshnessOf(await bench.open())).toBe('unknown');
  });

  test('trust is counted from before the markers were read, regardless of the time to set them', async () => {
    let readAtMs = 0;
    await bench.auth.confirmMarkers(async () => {
      readAtMs = await bench.raw(timeOf);
      await waitUntil(async () => (await bench.raw(timeOf)) > readAtMs + 1_000, { what: 'a second to pass' });
    });
    expect(await confirmedUntil()).toBeLessThanOrEqual(readAtMs + markersTrustMs);
  });

  test('a late confirmation has no effect', async () => {
    await bench.auth.confirmMarkers(async () => {
      const readAtMs = await bench.raw(timeOf);
      await waitUntil(async () => (await bench.raw(timeOf)) > readAtMs + markersTrustMs, {
        what: 'the trust to expire',
      });
    });
    expect(await bench.raw((redis) => redis.exists(confirmedKey))).toBe(0);
    expect(await bench.freshnessOf(await bench.open())).toBe('unknown');
  });

  test('a confirmation that a paused Redis receives after resuming does not extend the trust', async () => {
    let readAtMs = 0;
    const confirming = bench.auth.confirmMarkers(async () => {
      readAtMs = await bench.raw(timeOf);
      bench.server.pause();
    });
    await expect(confirming).rejects.toThrow('did not respond');
    bench.server.resume();
    const until = await bench.raw(async (redis) => {
      await waitUntil(async () => (await redis.exists(confirmedKey)) === 1, { what: 'the confirmation to arrive' });
      return redis.pexpiretime(confirmedKey);
    });
    expect(until).toBeLessThanOrEqual(readAtMs + markersTrustMs);
  });

  test('a confirmation for another server is ignored', async () => {
    // Simulates a replica that takes over and may lack the latest markers.
    await bench.raw((redis) => redis.set(confirmedKey, 'another-run-id', 'PX', markersTrustMs));
    const limiter = await bench.open();
    expect(await bench.freshnessOf(limiter)).toBe('unknown');
    await bench.becomesTrusting(limiter);
  });

  test('setMarkers() rejects if a marker cannot be set', async () => {
    bench.server.pause();
    await expect(bench.auth.setMarkers([{ ...check, version: 2 }])).rejects.toThrow();
    await expect(bench.confirm()).rejects.toThrow();
    bench.server.resume();
    await bench.server.kill();
    await expect(bench.auth.setMarkers([{ ...check, version: 2 }])).rejects.toThrow();
    await expect(bench.confirm()).rejects.toThrow();
  });

  test('a Redis that was killed and restarted empty is trusted only after a new confirmation', async () => {
    const limiter = await bench.openTrusting();
    await bench.auth.setMarkers([{ ...check, version: 2 }]);
    let lost = 0;
    limiter.onMarkersLost(() => {
      lost += 1;
    });
    await bench.server.kill();
    await bench.becomes(limiter, 'unknown');
    expect(await limiter.healthy()).toBe(false);
    const lostCount = lost;
    expect(lostCount).toBeGreaterThan(0);
    await bench.server.restart();
    await waitUntil(() => limiter.healthy(), { what: 'Redis to respond' });
    await waitUntil(() => lost > lostCount, { what: 'the new server to be noticed' });
    expect(await bench.freshnessOf(limiter)).toBe('unknown');
    await bench.becomesTrusting(limiter, check);
  });

  test('after a flush of Redis, listeners are notified and markers are untrusted until the next confirmation', async () => {
    const limiter = await bench.openTrusting();
    let lost = 0;
    const end = limiter.onMarkersLost(() => {
      lost += 1;
    });
    await bench.raw((redis) => redis.flushall());
    await waitUntil(() => lost > 0, { what: 'the loss to be noticed' });
    expect(await bench.freshnessOf(limiter)).toBe('unknown');
    end();
    const lostBefore = lost;
    await bench.becomesTrusting(limiter);
    expect(lost).toBe(lostBefore);
  });
});
