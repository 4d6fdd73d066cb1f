import { turnLoop } from '@rms/testkit';

const wait = () => new Promise((resolve) => setTimeout(resolve, 1_000));

test('a loop that leaves nothing behind is measured as such', async () => {
  const { listeners, bytesPerTurn } = await turnLoop(async (signal) => {
    while (!signal.aborted) await wait();
  });
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});

test('a listener per turn is found', async () => {
  const leaky = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      signal.addEventListener('abort', () => {});
      await wait();
    }
  };
  const { listeners, bytesPerTurn } = await turnLoop(leaky, 10_000);
  expect(listeners).toBe(10_000);
  expect(bytesPerTurn).toBeGreaterThan(16);
});

test('an entry per turn is found', async () => {
  const kept: object[] = [];
  const leaky = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      kept.push({ turn: kept.length });
      await wait();
    }
  };
  expect((await turnLoop(leaky)).bytesPerTurn).toBeGreaterThan(16);
});

test('a loop that ends is an error', async () => {
  await expect(turnLoop(async () => {})).rejects.toThrow('the loop ended');
});
