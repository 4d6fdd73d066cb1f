import type { ConsumedRecord, EventBus, PublishBatch, Subscription } from './event-bus.ts';

/** How long a batch waits for a consumer that is not there (yet), and between tries of one that fails. */
const consumerWaitMs = 5_000;
const firstRetryMs = 50;
const longestRetryMs = 1_000;

interface Group {
  readonly subscription: Subscription;
  readonly signal: AbortSignal;
  /** What each partition is busy with; the next batch of the partition follows it. */
  readonly busy: Map<number, Promise<void>>;
}

/**
 * A bus inside one process, without memory of its own: publish() resolves when every group has handled the batch, so
 * what it acknowledged is safe in the consumers' database, and a slow consumer holds the publisher back (docs/adr/0003).
 */
export function createInProcessBus(): EventBus {
  const groups = new Map<string, Group>();
  const offsets = new Map<string, bigint>();
  const arrivals = new Set<() => void>();
  let stopped = false;

  const handOver = async ({ topic, partition, records }: PublishBatch, signal: AbortSignal) => {
    const offsetKey = `${topic}/${partition}`;
    const first = offsets.get(offsetKey) ?? 0n;
    offsets.set(offsetKey, first + BigInt(records.length));
    const consumed = records.map((record, i) => ({ ...record, partition, offset: String(first + BigInt(i)) }));
    const subscribed = await subscribers(topic, signal);
    await Promise.all(subscribed.map((group) => handle(group, partition, consumed, signal)));
  };

  const subscribers = async (topic: string, signal: AbortSignal): Promise<Group[]> => {
    const find = () => [...groups.values()].filter((group) => group.subscription.topic === topic);
    const giveUpAtMs = Date.now() + consumerWaitMs;
    let found = find();
    while (found.length === 0) {
      signal.throwIfAborted();
      if (stopped) throw new Error('the bus is stopped');
      if (Date.now() >= giveUpAtMs) throw new Error(`nobody consumes ${topic}`);
      await pause(giveUpAtMs - Date.now(), signal, arrivals);
      found = find();
    }
    return found;
  };

  /** Queues behind the partition's batch under way, then hands over until it is handled. */
  const handle = (group: Group, partition: number, records: readonly ConsumedRecord[], signal: AbortSignal) => {
    const before = group.busy.get(partition) ?? Promise.resolve();
    const done = before.catch(() => {}).then(() => handleUntilDone(group, records, signal));
    group.busy.set(partition, done);
    return done.finally(() => {
      if (group.busy.get(partition) === done) group.busy.delete(partition);
    });
  };

  return {
    async start() {
      stopped = false;
    },
    async publish(batch, signal) {
      signal.throwIfAborted();
      if (stopped) throw new Error('the bus is stopped');
      await handOver(batch, signal);
    },
    async consume(subscription, signal) {
      const key = `${subscription.topic}/${subscription.group}`;
      if (groups.has(key)) throw new Error(`group ${subscription.group} consumes ${subscription.topic} already`);
      const group: Group = { subscription, signal, busy: new Map() };
      groups.set(key, group);
      for (const arrived of arrivals) arrived();
      try {
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener('abort', () => resolve(), { once: true });
        });
        await Promise.allSettled(group.busy.values());
      } finally {
        groups.delete(key);
      }
    },
    healthy: async () => !stopped,
    async stop() {
      stopped = true;
      for (const arrived of arrivals) arrived();
    },
  };
}

async function handleUntilDone(group: Group, records: readonly ConsumedRecord[], signal: AbortSignal): Promise<void> {
  for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
    if (group.signal.aborted) throw new Error(`group ${group.subscription.group} has stopped`);
    signal.throwIfAborted();
    try {
      return await group.subscription.onBatch(records, group.signal);
    } catch (error) {
      if (group.signal.aborted || signal.aborted) throw error;
      await pause(retryMs, signal);
    }
  }
}

/** Resolves after a time, when the signal aborts, or when one of `arrivals` is called. */
function pause(delayMs: number, signal: AbortSignal, arrivals?: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      arrivals?.delete(finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(delayMs, 0));
    signal.addEventListener('abort', finish, { once: true });
    arrivals?.add(finish);
  });
}
