/// <reference path="./kafkajs-request-queue.d.ts" />
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

let isApplied = false;

/**
 * Stops the timer that kafkajs 2.2.4 runs every millisecond on each connection, even when no request is queued
 * (https://github.com/tulios/kafkajs/issues/1704). kafkajs has no option for it. A request that is queued later starts
 * the timer itself. Idle, one producer and one consumer use 0.3 % of a core instead of 5 % (docs/adr/0023).
 *
 * Applies to the whole process. createKafkaClient() calls it, so that importing this package changes nothing.
 */
export function stopIdleTimers(): void {
  if (isApplied) return;
  isApplied = true;
  const { prototype } = RequestQueue;
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) schedule.call(this);
  };
}
