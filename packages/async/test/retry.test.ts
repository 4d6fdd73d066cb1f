import { retry } from '@rms/async';

describe('retry', () => {
  const busy = new Error('busy');
  const isTemporary = (error: unknown) => error === busy;

  test('repeats a call while its error is temporary, and reports the first error once', async () => {
    const reported: unknown[] = [];
    let calls = 0;
    const call = async () => {
      calls += 1;
      if (calls < 4) throw busy;
      return calls;
    };
    const onWait = (error: unknown) => void reported.push(error);
    expect(await retry(call, { isTemporary, onWait, forMs: 60_000, everyMs: 1 })).toBe(4);
    expect(reported).toEqual([busy]);
  });

  test('rejects with another error immediately', async () => {
    let calls = 0;
    const call = async () => {
      calls += 1;
      throw calls === 1 ? busy : new Error('broken');
    };
    await expect(retry(call, { isTemporary, forMs: 60_000, everyMs: 1 })).rejects.toThrow('broken');
    expect(calls).toBe(2);
  });

  test('rejects with a temporary error after the time', async () => {
    const call = () => Promise.reject(busy);
    await expect(retry(call, { isTemporary, forMs: -1, everyMs: 1 })).rejects.toBe(busy);
  });
});
