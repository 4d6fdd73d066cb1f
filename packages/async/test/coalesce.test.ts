import { setImmediate as turn } from 'node:timers/promises';
import { coalesce } from '@rms/async';
import { waitUntil } from '@rms/testkit';

/** Creates a `send` with batches that the test completes. */
function manual() {
  const batches: { items: number[]; response: (outs?: number[]) => void; fail: (error: Error) => void }[] = [];
  const send = (items: number[]) =>
    new Promise<number[]>((resolve, reject) => {
      batches.push({ items, response: (outs = items.map((item) => item * 10)) => resolve(outs), fail: reject });
    });
  return { batches, send };
}

describe('coalesce', () => {
  test('calls of one turn share a batch, and each gets its own result', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const responses = Promise.all([1, 2, 3].map((item) => call(item)));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    batches[0]?.response();
    expect(await responses).toEqual([10, 20, 30]);
  });

  test('calls made while a batch is in flight are sent together, in order, when it returns', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const first = call(1);
    await turn();
    const later = Promise.all([call(2), call(3)]);
    await turn();
    const latest = call(4);
    await turn();
    expect(batches).toHaveLength(1);
    batches[0]?.response();
    expect(await first).toBe(10);
    await turn();
    expect(batches[1]?.items).toEqual([2, 3, 4]);
    batches[1]?.response();
    expect([...(await later), await latest]).toEqual([20, 30, 40]);
  });

  test('the number of batches in flight and their size are limited', async () => {
    const { batches, send } = manual();
    const call = coalesce(send, { maxInFlight: 2, maxBatch: 2 });
    const responses = Promise.all([1, 2, 3, 4, 5].map((item) => call(item)));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    batches[1]?.response();
    await turn();
    expect(batches[2]?.items).toEqual([5]);
    batches[0]?.response();
    batches[2]?.response();
    expect(await responses).toEqual([10, 20, 30, 40, 50]);
  });

  test('tenants are served round-robin, and the calls of a tenant are sent in order', async () => {
    const { batches, send } = manual();
    const tenantOf = (item: number) => (item < 100 ? 'busy' : `tenant ${Math.floor(item / 100)}`);
    const call = coalesce(send, { maxBatch: 4, tenantOf });
    const first = call(1);
    await turn();
    const rest = Promise.all([2, 3, 4, 5, 6, 100, 101, 200].map((item) => call(item)));
    for (let i = 0; i < 3; i += 1) {
      batches[i]?.response();
      await turn();
    }
    batches[3]?.response();
    await Promise.all([first, rest]);
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 100, 200, 3], [101, 4, 5, 6]]);
  });

  test('a failing batch rejects only its own calls', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const failing = call(1);
    await turn();
    const other = call(2);
    batches[0]?.fail(new Error('lost'));
    await expect(failing).rejects.toThrow('lost');
    await turn();
    batches[1]?.response();
    expect(await other).toBe(20);
  });

  test('a send that throws synchronously rejects the call, and the next call is sent', async () => {
    let broken = true;
    const call = coalesce(async (items: number[]) => {
      if (broken) throw new Error('broken');
      return items;
    });
    await expect(call(1)).rejects.toThrow('broken');
    broken = false;
    expect(await call(2)).toBe(2);
  });

  test('too few results reject the batch instead of being assigned to wrong calls', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const responses = Promise.allSettled([call(1), call(2)]);
    await turn();
    batches[0]?.response([10]);
    expect((await responses).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('a full queue rejects immediately, and accepts calls again when it has drained', async () => {
    const gate = Promise.withResolvers<void>();
    const call = coalesce(
      async (items: number[]) => {
        await gate.promise;
        return items;
      },
      { maxWaiting: 2 },
    );
    const first = call(1);
    await turn();
    const waiting = [call(2), call(3)];
    await expect(call(4)).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    gate.resolve();
    expect(await Promise.all([first, ...waiting])).toEqual([1, 2, 3]);
    expect(await call(5)).toBe(5);
  });

  test('a call that was queued too long is rejected, and later calls are sent', async () => {
    const { batches, send } = manual();
    const call = coalesce(send, { maxWaitMs: 30 });
    const first = call(1);
    await turn();
    const late = call(2);
    const startedAtMs = performance.now();
    await waitUntil(() => performance.now() - startedAtMs > 40, { what: 'the call to exceed its limit' });
    const fresh = call(3);
    batches[0]?.response();
    expect(await first).toBe(10);
    await turn();
    expect(batches[1]?.items).toEqual([3]);
    await expect(late).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    batches[1]?.response();
    expect(await fresh).toBe(30);
  });

  test('a call that is aborted while it is queued is rejected and not sent', async () => {
    const { batches, send } = manual();
    const call = coalesce(send, { maxBatch: 2 });
    const first = call(1);
    await turn();
    const aborts = [new AbortController(), new AbortController()];
    const aborted = Promise.allSettled(aborts.map(({ signal }, i) => call(2 + i, signal)));
    const [fourth, fifth] = [call(4, new AbortController().signal), call(5)];
    for (const abort of aborts) abort.abort(new Error('the deadline has passed'));
    batches[0]?.response();
    expect(await first).toBe(10);
    await turn();
    expect(batches[1]?.items).toEqual([4, 5]);
    expect(await aborted).toMatchObject(aborts.map(({ signal: { reason } }) => ({ status: 'rejected', reason })));
    batches[1]?.response();
    expect(await Promise.all([fourth, fifth])).toEqual([40, 50]);
  });
});

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
});
