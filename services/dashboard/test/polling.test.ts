import { deliveryPollMs, replayPollMs } from '../web/src/features/deliveries/polling.ts';

test.each([
  [undefined, true],
  ['pending', true],
  ['retrying', true],
  ['delivered', false],
  ['failed', false],
  ['skipped', false],
] as const)('a delivery that is %s is polled: %s', (status, isPolled) => {
  expect(deliveryPollMs(status && { status }) !== false).toBe(isPolled);
});

test.each([
  [undefined, true],
  ['running', true],
  ['done', false],
  ['canceled', false],
] as const)('a replay that is %s is polled: %s', (status, isPolled) => {
  expect(replayPollMs(status && { status }) !== false).toBe(isPolled);
});
