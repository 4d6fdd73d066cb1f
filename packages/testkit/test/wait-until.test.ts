import { waitUntil } from '../src/index.ts';

describe('waitUntil', () => {
  test('returns the first truthy result, after falsy ones and failures', async () => {
    const responses = [
      () => false,
      () => {
        throw new Error('not yet');
      },
      () => undefined,
      () => 'there',
    ];
    expect(await waitUntil(() => responses.shift()?.(), { what: 'an answer', everyMs: 1 })).toBe('there');
    expect(responses).toEqual([]);
  });

  test('times out with the awaited condition and the last failure', async () => {
    const check = () => Promise.reject(new Error('connection refused'));
    await expect(waitUntil(check, { what: 'the server', timeoutMs: 20, everyMs: 1 })).rejects.toThrow(
      /waiting for the server: connection refused/,
    );
  });
});
