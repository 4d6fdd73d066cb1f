export { type EndReason, endReasons } from './end-reasons.ts';
export {
  type EventType,
  eventTypes,
  isEventType,
  isOperational,
  type OperationalEventType,
  operationalEventTypes,
  receivedTypes,
  resourceEventTypes,
  subjectPrefixes,
} from './event-types.ts';
export { type SampleParts, sampleEvent } from './sample-event.ts';
