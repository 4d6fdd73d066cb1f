export {
  type BatchRange,
  type BusRecord,
  type ConsumedRecord,
  type EventBus,
  eventRetentionMs,
  type Loss,
  type PartitionLag,
  type PositionMove,
  type PositionStore,
  type PublishBatch,
  RewoundError,
  type StoredPosition,
  type Subscription,
  type Topic,
} from './event-bus.ts';
export { createInProcessBus } from './in-process-bus.ts';
export { createKafkaBus, type KafkaBusOptions } from './kafka-bus.ts';
export { type OpenBusOptions, openBus } from './open-bus.ts';
