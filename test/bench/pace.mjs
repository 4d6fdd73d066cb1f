import { newEvent } from './events.mjs';

/** Publishes events at a constant rate. Returns when each was sent (milliseconds since the epoch), by resource ID. */
export async function pace(publisher, workspaceId, { perSecond, seconds, type = 'resource.created' }) {
  const total = Math.round(perSecond * seconds);
  const sent = new Map();
  const startedAtMs = performance.now();
  const running = [];
  for (let i = 0; i < total; i++) {
    const dueInMs = startedAtMs + (i * 1_000) / perSecond - performance.now();
    if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs));
    const event = newEvent(workspaceId, type);
    sent.set(event.resourceId, performance.timeOrigin + performance.now());
    running.push(publisher.publish(i % 6, [event]));
  }
  await Promise.all(running);
  return sent;
}

/** Publishes events at a constant rate. Returns the milliseconds until each arrived at the receiver's default path. */
export async function latencies(publisher, receiver, workspaceId, rate) {
  const before = receiver.arrivals.size;
  const sent = await pace(publisher, workspaceId, rate);
  await receiver.until(before + sent.size);
  return [...sent].map(([id, atMs]) => receiver.arrivals.get(id) - atMs);
}
