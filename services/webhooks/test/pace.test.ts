import { setImmediate } from 'node:timers/promises';
import { createPace } from '../src/delivery/pace.ts';

test('lets callers through one by one in their order, and the event loop comes round in between', async () => {
  const pace = createPace(1);
  let turns = 0;
  const seen: { caller: number; turn: number }[] = [];
  const callers = [0, 1, 2, 3].map((caller) => pace().then(() => seen.push({ caller, turn: turns })));
  await Promise.resolve();
  await Promise.resolve();
  // The first waits for nothing.
  expect(seen).toEqual([{ caller: 0, turn: 0 }]);
  const all = Promise.all(callers);
  let done = false;
  void all.then(() => {
    done = true;
  });
  while (!done) {
    await setImmediate();
    turns += 1;
  }
  expect(seen.map(({ caller }) => caller)).toEqual([0, 1, 2, 3]);
  expect(new Set(seen.map(({ turn }) => turn)).size).toBe(4);
});
