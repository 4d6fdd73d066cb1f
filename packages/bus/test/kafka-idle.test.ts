/// <reference path="../src/kafkajs-request-queue.d.ts" />
import { createLogger } from '@rms/runtime/logging';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { createKafkaClient } from '../src/kafka-client.ts';

const { prototype } = RequestQueue;
const log = createLogger({ name: 'bus', level: 'silent' });

/** Creates a request queue of kafkajs without a connection. */
const queueWith = (pending: readonly unknown[], throttledUntil: number) =>
  Object.assign(Object.create(prototype) as typeof prototype, {
    pending,
    throttledUntil,
    throttleCheckTimeoutId: null as NodeJS.Timeout | null,
  });

test('an import does not change kafkajs; the first client stops the timers of idle connections, once', () => {
  const original = prototype.scheduleCheckPendingRequests;
  const create = () => {
    createKafkaClient({ brokers: ['127.0.0.1:9'], clientId: 'idle', log });
    return prototype.scheduleCheckPendingRequests;
  };
  const first = create();
  expect(first).not.toBe(original);
  expect(create()).toBe(first);
});

test('a connection without queued requests starts no timer', () => {
  const idle = queueWith([], -1);
  idle.scheduleCheckPendingRequests();
  expect(idle.throttleCheckTimeoutId).toBeNull();
});

test('a request that the broker throttled is checked again', () => {
  const throttled = queueWith([{}], Date.now() + 60_000);
  throttled.scheduleCheckPendingRequests();
  expect(throttled.throttleCheckTimeoutId).not.toBeNull();
  clearTimeout(throttled.throttleCheckTimeoutId ?? undefined);
});
