import { describeError } from '../../src/logging/describe-error.ts';

describe('describeError', () => {
  test('returns type, message, stack, code and causes, and no other properties', () => {
    const cause = Object.assign(new Error('below'), { code: 'ECONNRESET', client: { password: 'hunter2' } });
    const error = new TypeError('above', { cause });
    expect(describeError(error)).toEqual({
      type: 'TypeError',
      message: 'above',
      stack: error.stack,
      cause: { type: 'Error', message: 'below', stack: cause.stack, code: 'ECONNRESET' },
    });
  });

  test('describes a thrown non-error as text', () => {
    expect(describeError('oops')).toEqual({ type: 'string', message: 'oops' });
    expect(describeError(undefined)).toEqual({ type: 'undefined', message: 'undefined' });
  });

  test('terminates on circular causes', () => {
    const error = new Error('round');
    error.cause = error;
    let depth = 0;
    for (let described = describeError(error).cause; described; described = described.cause) depth += 1;
    expect(depth).toBe(5);
  });
});
