import { setImmediate as turn } from 'node:timers/promises';
import { coalesce } from '@rms/rpc';
import { waitUntil } from '@rms/testkit';
import { signalled } from './workspaces-server.ts';

/** A `send` whose batches are answered by hand. */
function manual() {
  const batches: { items: number[]; answer: (outs?: number[]) => void; fail: (error: Error) => void }[] = [];
  const send = (items: number[]) =>
    new Promise<number[]>((resolve, reject) => {
      batches.push({ items, answer: (outs = items.map((item) => item * 10)) => resolve(outs), fail: reject });
    });
  return { batches, send };
}

describe('coalesce', () => {
  test('calls of one turn share a batch, and each gets its own answer', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const answers = Promise.all([1, 2, 3].map(call));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    batches[0]?.answer();
    expect(await answers).toEqual([10, 20, 30]);
  });

  test('calls made while a batch is under way leave together, in order, when it returns', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const first = call(1);
    await turn();
    const later = Promise.all([call(2), call(3)]);
    await turn();
    const latest = call(4);
    await turn();
    expect(batches).toHaveLength(1);
    batches[0]?.answer();
    expect(await first).toBe(10);
    await turn();
    expect(batches[1]?.items).toEqual([2, 3, 4]);
    batches[1]?.answer();
    expect([...(await later), await latest]).toEqual([20, 30, 40]);
  });

  test('as many batches as allowed are under way at once, none longer than allowed', async () => {
    const { batches, send } = manual();
    const call = coalesce(send, { maxInFlight: 2, maxBatch: 2 });
    const answers = Promise.all([1, 2, 3, 4, 5].map(call));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    batches[1]?.answer();
    await turn();
    expect(batches[2]?.items).toEqual([5]);
    batches[0]?.answer();
    batches[2]?.answer();
    expect(await answers).toEqual([10, 20, 30, 40, 50]);
  });

  test('a batch that fails rejects its own calls only', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const failing = call(1);
    await turn();
    const other = call(2);
    batches[0]?.fail(new Error('lost'));
    await expect(failing).rejects.toThrow('lost');
    await turn();
    batches[1]?.answer();
    expect(await other).toBe(20);
  });

  test('a send that throws at once rejects the call, and the next one is sent', async () => {
    let broken = true;
    const call = coalesce(async (items: number[]) => {
      if (broken) throw new Error('broken');
      return items;
    });
    await expect(call(1)).rejects.toThrow('broken');
    broken = false;
    expect(await call(2)).toBe(2);
  });

  test('too few answers reject the batch instead of giving anyone the wrong one', async () => {
    const { batches, send } = manual();
    const call = coalesce(send);
    const answers = Promise.allSettled([call(1), call(2)]);
    await turn();
    batches[0]?.answer([10]);
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('a full queue refuses at once, and takes calls again when it has drained', async () => {
    const gate = signalled();
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

  test('a call that has waited too long is refused when its turn comes, later ones are sent', async () => {
    const { batches, send } = manual();
    const call = coalesce(send, { maxWaitMs: 30 });
    const first = call(1);
    await turn();
    const late = call(2);
    const startedAtMs = performance.now();
    await waitUntil(() => performance.now() - startedAtMs > 40, { what: 'the call to be late' });
    const fresh = call(3);
    batches[0]?.answer();
    await expect(late).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    expect(await first).toBe(10);
    await turn();
    expect(batches[1]?.items).toEqual([3]);
    batches[1]?.answer();
    expect(await fresh).toBe(30);
  });
});
