import { CallScope, coalesce, currentCall, inCall, joinCalls } from '@rms/async';

const reason = new Error('the deadline passed');

describe('a call scope', () => {
  test('ends once, and calls its listeners with the reason', () => {
    const call = new CallScope();
    const heard: unknown[] = [];
    call.onEnd((why) => heard.push(why));
    const leave = call.onEnd(() => heard.push('removed'));
    leave();
    call.check();
    call.end(reason);
    call.end(new Error('later'));
    expect(heard).toEqual([reason]);
    expect(() => call.check()).toThrow(reason);
    call.onEnd((why) => heard.push(why));
    expect(heard).toEqual([reason, reason]);
  });

  test('does not end work that outlives its handler', () => {
    const call = new CallScope();
    const heard: unknown[] = [];
    call.onEnd((why) => heard.push(why));
    call.end(reason);
    call.close();
    call.check();
    call.end(reason);
    expect(heard).toEqual([reason]);
  });

  test('is current in the continuations of the work, and nowhere else', async () => {
    const call = new CallScope();
    const seen = await inCall(call, async () => {
      await new Promise(setImmediate);
      return currentCall();
    });
    expect(seen).toBe(call);
    expect(currentCall()).toBeUndefined();
    expect(inCall(call, () => inCall(undefined, currentCall))).toBeUndefined();
  });

  test('of shared work ends when all calls have ended, and never if a caller has none', () => {
    const [one, other] = [new CallScope(), new CallScope()];
    const { call: joint } = joinCalls([one, other, one]);
    one.end(reason);
    joint?.check();
    other.end(reason);
    expect(() => joint?.check()).toThrow(reason);
    expect(joinCalls([one, undefined]).call).toBeUndefined();
    expect(joinCalls([one, one]).call).toBe(one);
  });
});

test('a batch runs in the joint scope of its callers, not in the scope of the caller that started it', async () => {
  const [first, one, other] = [new CallScope(), new CallScope(), new CallScope()];
  const scopes: unknown[] = [];
  const double = coalesce(async (numbers: number[]) => {
    scopes.push(currentCall());
    await new Promise(setImmediate);
    currentCall()?.check();
    return numbers.map((n) => n * 2);
  });
  const started = inCall(first, () => double(1));
  await new Promise(setImmediate);
  const shared = Promise.all([inCall(one, () => double(2)), inCall(other, () => double(3))]);
  one.end(reason);
  expect(await started).toBe(2);
  expect(await shared).toEqual([4, 6]);
  expect(scopes[0]).toBe(first);
  expect([first, one, other]).not.toContain(scopes[1]);
  expect(await double(4)).toBe(8);
  expect(scopes[2]).toBeUndefined();
});
