import { setImmediate } from 'node:timers/promises';
import { createPace } from '../src/delivery/pace.ts';

test('lets a few callers through together, in their order, and the event loop come round before the next', async () => {
  const pace = createPace(2, 1);
  let turns = 0;
  const seen: { caller: number; turn: number }[] = [];
  const callers = [0, 1, 2, 3, 4].map((caller) => pace().then(() => seen.push({ caller, turn: turns })));
  let done = false;
  void Promise.all(callers).then(() => {
    done = true;
  });
  while (!done) {
    await setImmediate();
    turns += 1;
  }
  expect(seen.map(({ caller }) => caller)).toEqual([0, 1, 2, 3, 4]);
  const turnOf = seen.map(({ turn }) => turn);
  // The first ones wait for nothing.
  expect(turnOf.slice(0, 2)).toEqual([0, 0]);
  expect(turnOf[2]).toBeGreaterThan(0);
  expect(turnOf[3]).toBe(turnOf[2]);
  expect(turnOf[4]).toBeGreaterThan(turnOf[3] ?? 0);
  // After a rest they are let through at once again.
  await pace();
});
