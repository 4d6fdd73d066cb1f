export { untilAborted, withDeadline } from './abort.ts';
export { CallScope, currentCall, inCall, joinCalls } from './call-scope.ts';
export { type CoalesceOptions, coalesce } from './coalesce.ts';
export { abortableDelay } from './delay.ts';
export { Lanes } from './lanes.ts';
export { retry } from './retry.ts';
export { waitAtMost, withTimeout } from './timeout.ts';
export { createTurns } from './turns.ts';
export { createWakeableSleep, type WakeableSleep } from './wakeable-sleep.ts';
