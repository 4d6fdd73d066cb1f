import { setImmediate as turn } from 'node:timers/promises';
import { createTurns } from '@rms/async';

describe('createTurns', () => {
  /** Returns the waits that end in each turn of the event loop. */
  async function endsByTurn(perTurn: number, lanes: readonly string[]): Promise<string[][]> {
    const next = createTurns(perTurn);
    let current: string[] = [];
    const waits = lanes.map((lane) => next(lane).then(() => void current.push(lane)));
    const turns: string[][] = [];
    let done = false;
    void Promise.all(waits).then(() => {
      done = true;
    });
    // The first waits end in the current turn, before the next one begins.
    await Promise.resolve().then(() => {});
    turns.push(current);
    while (!done) {
      current = [];
      await turn();
      turns.push(current);
    }
    return turns.filter((ends) => ends.length > 0);
  }

  test('a few waits end immediately', async () => {
    expect(await endsByTurn(3, ['a', 'b', 'c'])).toEqual([['a', 'b', 'c']]);
  });

  test('later waits end in later turns, and lanes take turns', async () => {
    const ends = await endsByTurn(2, ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c']);
    expect(ends.flat()).toEqual(['a', 'a', 'a', 'b', 'c', 'a', 'a', 'a']);
    for (const some of ends) expect(some.length).toBeLessThanOrEqual(2);
  });

  test('a wait after a pause ends immediately', async () => {
    const next = createTurns(1);
    await next('a');
    await turn();
    await turn();
    let ended = false;
    void next('a').then(() => {
      ended = true;
    });
    await Promise.resolve();
    expect(ended).toBe(true);
  });
});
