import { waitUntil } from '../src/index.ts';

describe('waitUntil', () => {
  test('gives the first answer that is true, after false ones and failures', async () => {
    const answers = [
      () => false,
      () => {
        throw new Error('not yet');
      },
      () => undefined,
      () => 'there',
    ];
    expect(await waitUntil(() => answers.shift()?.(), { what: 'an answer', everyMs: 1 })).toBe('there');
    expect(answers).toEqual([]);
  });

  test('gives up with what it waited for, and with the last failure', async () => {
    const check = () => Promise.reject(new Error('connection refused'));
    await expect(waitUntil(check, { what: 'the server', timeoutMs: 20, everyMs: 1 })).rejects.toThrow(
      /in vain for the server: connection refused/,
    );
  });
});
