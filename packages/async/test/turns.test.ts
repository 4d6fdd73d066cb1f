import { setImmediate as turn } from 'node:timers/promises';
import { createTurns } from '@rms/async';

describe('createTurns', () => {
  /** Returns the lanes of tasks that begin in each turn of the event loop. A task takes 1 ms. */
  async function startsByTurn(maxMs: number, lanes: readonly string[]): Promise<string[][]> {
    let nowMs = 0;
    const inTurn = createTurns(maxMs, () => nowMs);
    const turns: string[][] = [[]];
    for (const lane of lanes) {
      inTurn(lane, () => {
        nowMs += 1;
        turns.at(-1)?.push(lane);
      });
    }
    while (turns.flat().length < lanes.length) {
      turns.push([]);
      await turn();
    }
    return turns.filter((starts) => starts.length > 0);
  }

  test('tasks that take little time begin immediately', async () => {
    expect(await startsByTurn(3, ['a', 'b', 'c'])).toEqual([['a', 'b', 'c']]);
  });

  test('later tasks begin in later turns, and lanes take turns', async () => {
    const starts = await startsByTurn(2, ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c']);
    expect(starts).toEqual([
      ['a', 'a'],
      ['a', 'b'],
      ['c', 'a'],
      ['a', 'a'],
    ]);
  });

  test('a task that takes longer than a turn begins alone', async () => {
    expect(await startsByTurn(0.5, ['a', 'a', 'a'])).toEqual([['a'], ['a'], ['a']]);
  });

  test('a task after a pause begins immediately', async () => {
    let nowMs = 0;
    const inTurn = createTurns(1, () => nowMs);
    inTurn('a', () => {
      nowMs += 5;
    });
    await turn();
    await turn();
    let began = false;
    inTurn('a', () => {
      began = true;
    });
    expect(began).toBe(true);
  });

  test('a task that throws does not end the queue', async () => {
    let nowMs = 0;
    const inTurn = createTurns(1, () => nowMs);
    expect(() =>
      inTurn('a', () => {
        nowMs += 1;
        throw new Error('failed');
      }),
    ).toThrow('failed');
    const began: string[] = [];
    inTurn('a', () => began.push('a'));
    expect(began).toEqual([]);
    await turn();
    expect(began).toEqual(['a']);
  });
});
