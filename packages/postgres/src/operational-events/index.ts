export { listingHandlers } from './listing-handlers.ts';
export {
  deleteEvents,
  type EventOrigin,
  type NewOperationalEvent,
  type OperationalSchema,
  queuedEvents,
  queueEvents,
  readEvents,
} from './operational-event-queries.ts';
