export { CallScope, currentCall, inCall, joinCalls } from './calls.ts';
export { type CoalesceOptions, coalesce } from './coalesce.ts';
export { FairCache } from './fair-cache.ts';
export { FairQueue } from './fair-queue.ts';
export { FairShare } from './fair-share.ts';
export { createTurns } from './turns.ts';
export {
  abortableDelay,
  createWakeableSleep,
  retry,
  untilAborted,
  type WakeableSleep,
  waitAtMost,
  withDeadline,
  withTimeout,
} from './waits.ts';
