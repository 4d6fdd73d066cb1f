import { coalesce } from '@rms/async';
import { waitUntil } from '@rms/testkit';

interface Item {
  readonly tenant: string;
  readonly number: number;
  readonly bytes: number;
}

describe('exclusive batches', () => {
  /** Starts batches that end when `end` is called with their index. */
  const start = (limits: { maxInFlight: number; maxBatch: number; maxBytes: number }) => {
    const batches: Item[][] = [];
    const ends: ((error?: Error) => void)[] = [];
    const send = coalesce(
      (items: Item[]) =>
        new Promise<readonly number[]>((resolve, reject) => {
          batches.push(items);
          ends.push((error) => (error ? reject(error) : resolve(items.map(({ number }) => number))));
        }),
      { isExclusive: true, tenantOf: ({ tenant }) => tenant, bytesOf: ({ bytes }) => bytes, ...limits },
    );
    const sendAll = (tenant: string, count: number, bytes = 1) =>
      Promise.all(Array.from({ length: count }, (_, number) => send({ tenant, number, bytes })));
    const namesOf = (i: number) => batches[i]?.map(({ tenant, number }) => `${tenant}${number}`).join(' ');
    return { batches, ends, sendAll, namesOf };
  };

  test('a tenant is in one batch at a time, and another tenant is sent in the meantime', async () => {
    const { batches, ends, sendAll, namesOf } = start({ maxInFlight: 2, maxBatch: 2, maxBytes: 100 });
    const large = sendAll('a', 3);
    await waitUntil(() => batches.length === 1, { what: 'the first batch' });
    const small = sendAll('b', 1);
    await waitUntil(() => batches.length === 2, { what: 'the second batch' });
    expect([namesOf(0), namesOf(1)]).toEqual(['a0 a1', 'b0']);
    ends[1]?.();
    await small;
    expect(batches).toHaveLength(2);
    ends[0]?.();
    await waitUntil(() => batches.length === 3, { what: 'the rest' });
    expect(namesOf(2)).toBe('a2');
    ends[2]?.();
    await large;
  });

  test('tenants are served round-robin, and a batch is bounded in bytes', async () => {
    const { batches, ends, sendAll, namesOf } = start({ maxInFlight: 1, maxBatch: 4, maxBytes: 10 });
    const all = [sendAll('a', 4, 4), sendAll('b', 1), sendAll('c', 2)];
    for (let i = 0; i < 2; i += 1) {
      await waitUntil(() => batches.length === i + 1, { what: 'a batch' });
      ends[i]?.();
    }
    await Promise.all(all);
    expect([namesOf(0), namesOf(1), batches.length]).toEqual(['a0 b0 c0 a1', 'c1 a2 a3', 2]);
  });

  test('a failed batch rejects its items, and the remaining items are sent', async () => {
    const { batches, ends, sendAll } = start({ maxInFlight: 1, maxBatch: 1, maxBytes: 10 });
    const [first, second] = [sendAll('a', 1), sendAll('a', 1)];
    await waitUntil(() => batches.length === 1, { what: 'the first batch' });
    ends[0]?.(new Error('refused'));
    await expect(first).rejects.toThrow('refused');
    await waitUntil(() => batches.length === 2, { what: 'the second batch' });
    ends[1]?.();
    await second;
  });
});
