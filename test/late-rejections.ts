// vitest loads this file before each test file. A test may handle a rejection later than Node reports it, for example
// after it has compared something else. A rejection that nothing has handled by the end of the test file is an error.
import { setImmediate as nextTurn } from 'node:timers/promises';

const unhandled = new Map<Promise<unknown>, unknown>();
const onRejection = (reason: unknown, promise: Promise<unknown>) => void unhandled.set(promise, reason);
const onHandled = (promise: Promise<unknown>) => void unhandled.delete(promise);

// vitest itself reports a rejection only if no other listener exists.
process.on('unhandledRejection', onRejection).on('rejectionHandled', onHandled);

afterAll(async () => {
  // Node reports rejections after the microtasks of a turn.
  await nextTurn();
  process.off('unhandledRejection', onRejection).off('rejectionHandled', onHandled);
  if (unhandled.size > 0) throw new AggregateError(unhandled.values(), 'Rejections that nothing handled');
});
