/// <reference path="./kafkajs-request-queue.d.ts" />
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

const { prototype } = RequestQueue;
const schedule = prototype.scheduleCheckPendingRequests;

/**
 * kafkajs 2.2.4 looks every millisecond, on each of its connections and for ever, whether a request waits that it had held
 * back (https://github.com/tulios/kafkajs/issues/1704). Without any that waits there is nothing to look for: one that is
 * held back later schedules the look itself.
 */
prototype.scheduleCheckPendingRequests = function () {
  if (this.pending.length > 0) schedule.call(this);
};
