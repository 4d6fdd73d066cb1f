export { type EndReason, endReasons } from './end-reasons.ts';
export { type EventType, eventTypes, isEventType, receivedTypes } from './event-types.ts';
export { type SampleParts, sampleEvent } from './sample-event.ts';
