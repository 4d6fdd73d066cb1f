/// <reference path="../src/kafkajs-request-queue.d.ts" />
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import '../src/kafka-client.ts';

/** A queue of kafkajs without its connection. */
const queueWith = (pending: readonly unknown[], throttledUntil: number) =>
  Object.assign(Object.create(RequestQueue.prototype) as typeof RequestQueue.prototype, {
    pending,
    throttledUntil,
    throttleCheckTimeoutId: null as NodeJS.Timeout | null,
  });

test('a connection on which no request waits looks after none', () => {
  const idle = queueWith([], -1);
  idle.scheduleCheckPendingRequests();
  expect(idle.throttleCheckTimeoutId).toBeNull();
});

test('a request that the broker had asked to hold back is looked after', () => {
  const throttled = queueWith([{}], Date.now() + 60_000);
  throttled.scheduleCheckPendingRequests();
  expect(throttled.throttleCheckTimeoutId).not.toBeNull();
  clearTimeout(throttled.throttleCheckTimeoutId ?? undefined);
});
