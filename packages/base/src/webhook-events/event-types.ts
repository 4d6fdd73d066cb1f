/** Event types, which docs/webhook-receivers.md describes. */
export const eventTypes = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.status_changed',
] as const;

export type EventType = (typeof eventTypes)[number];

export function isEventType(text: string): text is EventType {
  return (eventTypes as readonly string[]).includes(text);
}

/** Returns the event types that a webhook receives: all for `["*"]`. */
export function receivedTypes(events: readonly string[]): EventType[] {
  return eventTypes.filter((type) => events.includes('*') || events.includes(type));
}
