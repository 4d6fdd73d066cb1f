import { generateApiKey } from '@rms/base/api-key';
import { callApi, describeWith, perSuite, startNetwork, startRedis, waitUntil } from '@rms/testkit';
import type { NewKey } from '../api/support/api-types.ts';
import { queryRedis } from './query-redis.ts';

const requests = 200;

describeWith(['kafka', 'redis-server'], 'Redis round trips per request', () => {
  const redis = perSuite(startRedis);
  const network = perSuite(() => startNetwork({ env: { AUTH_FAILURE_LIMIT: '1000000' }, redisUrl: redis.url }));

  const newKey = () =>
    network.rms<NewKey>(...['keys', 'create', '--environment', 'live', '--scope', 'read', '--name', 'used']);
  const get = async (key: string) => (await callApi('GET', `${network.liveUrl}/v1/resources`, key)).status;
  /** Returns the number of scripts that Redis has run so far. Each script is a round trip. */
  const scriptsRun = async () => {
    const stats = await queryRedis(redis.url, 'INFO commandstats');
    const calls = [...stats.matchAll(/cmdstat_(?:eval|evalsha|fcall)\w*:calls=(\d+)/g)];
    return calls.reduce((sum, [, number]) => sum + Number(number), 0);
  };
  const costOf = async (status: number, keyOf: (i: number) => string) => {
    const before = await scriptsRun();
    const statuses = await Promise.all(Array.from({ length: requests }, (_, i) => get(keyOf(i))));
    expect(new Set(statuses)).toEqual(new Set([status]));
    return (await scriptsRun()) - before;
  };

  test('a valid key costs one script; an invalid or revoked key at most one', async () => {
    const { key, id } = await newKey();
    await waitUntil(async () => (await get(key)) === 200, { what: 'the first response' });
    expect(await costOf(200, () => key)).toBe(requests);

    const wrong = Array.from({ length: requests }, () => generateApiKey('live'));
    expect(await costOf(401, (i) => wrong[i] as string)).toBeLessThanOrEqual(requests);
    expect(await costOf(401, () => wrong[0] as string)).toBeLessThanOrEqual(requests);
    expect(await costOf(401, () => 'no-key-at-all')).toBeLessThanOrEqual(requests);

    await network.rms('keys', 'revoke', id);
    expect(await costOf(401, () => key)).toBeLessThanOrEqual(requests);
  });
});
