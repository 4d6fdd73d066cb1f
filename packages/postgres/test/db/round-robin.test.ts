import { RmsError } from '@rms/base/errors';
import { roundRobin } from '@rms/postgres/db';

describe('roundRobin', () => {
  const running = new AbortController().signal;
  const items = (...steps: number[]) => steps.map((left, i) => ({ name: 'abc'[i], left }));

  test('an item with much work does not delay the others', async () => {
    const order: string[] = [];
    await roundRobin(
      items(3, 1, 2),
      async (item) => {
        order.push(`${item.name}`);
        item.left -= 1;
        return item.left > 0;
      },
      running,
    );
    expect(order).toEqual(['a', 'b', 'c', 'a', 'c', 'a']);
  });

  test('an item that fails is left out, and its error is thrown after the others have ended', async () => {
    const order: string[] = [];
    const work = roundRobin(
      items(2, 2),
      async (item) => {
        order.push(`${item.name}`);
        if (item.name === 'a') throw new Error('refused');
        item.left -= 1;
        return item.left > 0;
      },
      running,
    );
    await expect(work).rejects.toThrow('refused');
    expect(order).toEqual(['a', 'b', 'b']);
  });

  test('ends when the signal aborts, and when the database is unavailable', async () => {
    const abort = new AbortController();
    let steps = 0;
    const step = async () => {
      steps += 1;
      if (steps === 2) abort.abort();
      return true;
    };
    await roundRobin(items(1, 1, 1), step, abort.signal);
    expect(steps).toBe(2);
    const unavailable = async () => {
      steps += 1;
      throw new RmsError('service_unavailable');
    };
    await expect(roundRobin(items(1, 1), unavailable, running)).rejects.toThrow();
    expect(steps).toBe(3);
  });
});
