/** Types of events about resources, which docs/webhook-receivers.md describes. */
export const resourceEventTypes = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.status_changed',
] as const;

/** Types of events about the workspace's own webhooks, keys and quota, which docs/webhook-receivers.md describes. */
export const operationalEventTypes = [
  'webhook.disabled',
  'webhook.enabled',
  'webhook.failing',
  'webhook.recovered',
  'delivery.failed',
  'api_key.created',
  'api_key.rolled',
  'api_key.revoked',
  'api_key.expiring',
  'quota.warning',
  'quota.exceeded',
] as const;

/** All types of events. */
export const eventTypes = [...resourceEventTypes, ...operationalEventTypes] as const;

/** ID prefixes of the objects that events are about: resources, and webhooks, keys and workspaces of operational events. */
export const subjectPrefixes = ['res', 'wh', 'key', 'ws'] as const;

export type ResourceEventType = (typeof resourceEventTypes)[number];
export type OperationalEventType = (typeof operationalEventTypes)[number];
export type EventType = (typeof eventTypes)[number];

export function isEventType(text: string): text is EventType {
  return (eventTypes as readonly string[]).includes(text);
}

export function isOperational(type: string): type is OperationalEventType {
  return (operationalEventTypes as readonly string[]).includes(type);
}

/** Returns the event types that a webhook receives: those that it names, or all about resources for `["*"]`. */
export function receivedTypes(events: readonly string[]): EventType[] {
  const isAll = events.includes('*');
  return eventTypes.filter((type) => events.includes(type) || (isAll && !isOperational(type)));
}
