export type {
  BusRecord,
  ConsumedRecord,
  EventBus,
  PartitionLag,
  PublishBatch,
  Subscription,
  Topic,
} from './event-bus.ts';
export { createInProcessBus } from './in-process-bus.ts';
export { createKafkaBus, type KafkaBusOptions } from './kafka-bus.ts';
export { type OpenBusOptions, openBus } from './open-bus.ts';
