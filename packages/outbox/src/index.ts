export { appendEvents, eventColumns, eventParameters, type OutboxEvent, unnestEvents } from './append-events.ts';
export { migrations } from './migrations.ts';
export { partitionOf } from './partition-of.ts';
export { createRelay, type Relay, type RelayOptions } from './relay.ts';
