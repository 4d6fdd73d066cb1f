import { CallScope, inCall, untilAborted, waitAtMost, withDeadline, withTimeout } from '@rms/async';

const longMs = 3_600_000;
const pending = new Promise<string>(() => {});

describe('withTimeout', () => {
  it('settles like the work', async () => {
    expect(await withTimeout(Promise.resolve('done'), longMs, 'Redis')).toBe('done');
    await expect(withTimeout(Promise.reject(new Error('failed')), longMs, 'Redis')).rejects.toThrow('failed');
  });

  it('rejects after the timeout with an error that contains the name', async () => {
    await expect(withTimeout(pending, 1, 'Redis')).rejects.toThrow('Redis did not respond within 1 ms');
  });
});

describe('waitAtMost', () => {
  it('settles like the work, or resolves to undefined after the timeout', async () => {
    expect(await waitAtMost(Promise.resolve('done'), longMs)).toBe('done');
    await expect(waitAtMost(Promise.reject(new Error('failed')), longMs)).rejects.toThrow('failed');
    expect(await waitAtMost(pending, 1)).toBeUndefined();
  });
});

describe.each<[string, () => Promise<unknown>]>([
  ['withTimeout', () => withTimeout(pending, longMs, 'Redis')],
  ['waitAtMost', () => waitAtMost(pending, longMs)],
])('%s in a call', (_, wait) => {
  it('rejects when the call ends, and leaves no timer', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const call = new CallScope();
    const waiting = inCall(call, wait);
    call.end(new Error('the caller has canceled'));
    await expect(waiting).rejects.toThrow('the caller has canceled');
    await expect(inCall(call, wait)).rejects.toThrow('the caller has canceled');
    expect(timers()).toBe(before);
  });
});

describe('untilAborted', () => {
  it('settles like the promise, or rejects with the reason of the abort', async () => {
    const stop = new AbortController();
    expect(await untilAborted(Promise.resolve('done'), stop.signal)).toBe('done');
    const waiting = untilAborted(pending, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(untilAborted(pending, stop.signal)).rejects.toThrow('stopped');
  });
});

describe('withDeadline', () => {
  it('aborts after the timeout, when the given signal aborts, and when it is ended', async () => {
    const stop = new AbortController();
    const start = (timeoutMs: number) => withDeadline(stop.signal, timeoutMs, 'publishing');
    const [expiring, following, ending] = [start(1), start(longMs), start(longMs)];
    await expect(untilAborted(pending, expiring.signal)).rejects.toThrow('publishing took longer than 1 ms');
    ending.end();
    expect(ending.signal.reason).toEqual(new Error('publishing has ended'));
    stop.abort(new Error('stopped'));
    expect(following.signal.reason).toEqual(new Error('stopped'));
    for (const one of [expiring, following]) one.end();
  });
});
