import type { Logger } from '@rms/service';
import { untilAborted, withDeadline } from './abort.ts';
import type { ConsumedRecord, EventBus, PublishBatch, Subscription } from './event-bus.ts';
import { handleUntilDone } from './handle-until-done.ts';

/** How long publish() waits for a consumer that is not there (yet), and altogether. */
const consumerWaitMs = 5_000;
const publishTimeoutMs = 30_000;

/** A consumer group of a topic. It stays known when its consumer goes: what is published meanwhile waits for the next. */
interface Group {
  consumer: Consumer | undefined;
  readonly waiting: Set<(consumer: Consumer) => void>;
}

interface Consumer {
  readonly subscription: Subscription;
  readonly signal: AbortSignal;
  /** The last batch of each partition; the next one follows it. */
  readonly busy: Map<number, Promise<void>>;
}

/**
 * A bus inside one process, without memory of its own: publish() resolves when every group has handled the batch, so
 * what it acknowledged is safe in the consumers' database, and a slow consumer holds the publisher back (docs/adr/0003).
 * One consumer a group: the partitions are not shared.
 */
export function createInProcessBus({ log }: { log?: Logger } = {}): EventBus {
  const topics = new Map<string, Map<string, Group>>();
  const offsets = new Map<string, bigint>();
  let stopped = new AbortController();

  const groupsOf = (topic: string) => getOrAdd(topics, topic, () => new Map<string, Group>());
  const groupOf = (topic: string, name: string) =>
    getOrAdd(groupsOf(topic), name, () => ({ consumer: undefined, waiting: new Set() }));

  const publish = async ({ topic, partition, records }: PublishBatch, signal: AbortSignal) => {
    const offsetKey = `${topic}/${partition}`;
    const first = offsets.get(offsetKey) ?? 0n;
    offsets.set(offsetKey, first + BigInt(records.length));
    const consumed = records.map((record, i) => ({ ...record, partition, offset: String(first + BigInt(i)) }));
    // Nobody has subscribed yet: whoever comes first gets it.
    if (groupsOf(topic).size === 0) await someGroup(topic, signal);
    await Promise.all([...groupsOf(topic).values()].map((group) => handOver(group, topic, partition, consumed, signal)));
  };

  const arrivals = new Set<() => void>();
  const someGroup = async (topic: string, signal: AbortSignal) => {
    const patience = withDeadline(signal, consumerWaitMs, `waiting for a consumer of ${topic}`);
    try {
      while (groupsOf(topic).size === 0) {
        await untilAborted(new Promise<void>((resolve) => arrivals.add(resolve)), patience.signal);
      }
    } finally {
      patience.clear();
    }
  };

  const handOver = async (
    group: Group,
    topic: string,
    partition: number,
    records: readonly ConsumedRecord[],
    signal: AbortSignal,
  ) => {
    const consumer = group.consumer ?? (await nextConsumer(group, topic, signal));
    const before = consumer.busy.get(partition) ?? Promise.resolve();
    const done = before.catch(() => {}).then(() => handle(consumer, records, signal));
    consumer.busy.set(partition, done);
    try {
      await untilAborted(done, signal);
    } finally {
      if (consumer.busy.get(partition) === done) consumer.busy.delete(partition);
    }
  };

  /** The batch is handed over until it is handled, unless the publisher gives up or the consumer goes. */
  const handle = async ({ subscription, signal }: Consumer, records: readonly ConsumedRecord[], given: AbortSignal) => {
    given.throwIfAborted();
    const ended = new AbortController();
    const end = () => ended.abort(new Error(`a consumer of group ${subscription.group} has stopped, or was given up`));
    for (const source of [signal, given]) source.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      await handleUntilDone(subscription, records, ended.signal, log);
    } finally {
      for (const source of [signal, given]) source.removeEventListener('abort', end);
    }
  };

  const nextConsumer = async (group: Group, topic: string, signal: AbortSignal): Promise<Consumer> => {
    const patience = withDeadline(signal, consumerWaitMs, `waiting for a consumer of ${topic}`);
    let arrived: ((consumer: Consumer) => void) | undefined;
    const arrival = new Promise<Consumer>((resolve) => {
      arrived = resolve;
      group.waiting.add(resolve);
    });
    try {
      return await untilAborted(arrival, patience.signal);
    } finally {
      if (arrived) group.waiting.delete(arrived);
      patience.clear();
    }
  };

  return {
    async start() {
      if (stopped.signal.aborted) stopped = new AbortController();
    },
    async publish(batch, signal) {
      signal.throwIfAborted();
      stopped.signal.throwIfAborted();
      const deadline = withDeadline(signal, publishTimeoutMs, `publishing to ${batch.topic}`);
      try {
        await untilAborted(publish(batch, deadline.signal), stopped.signal);
      } finally {
        deadline.clear();
      }
    },
    async consume(subscription, signal) {
      const group = groupOf(subscription.topic, subscription.group);
      if (group.consumer) throw new Error(`group ${subscription.group} consumes ${subscription.topic} already`);
      const consumer: Consumer = { subscription, signal, busy: new Map() };
      group.consumer = consumer;
      for (const take of group.waiting) take(consumer);
      group.waiting.clear();
      for (const arrived of arrivals) arrived();
      arrivals.clear();
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      group.consumer = undefined;
      await Promise.allSettled(consumer.busy.values());
    },
    healthy: async () => !stopped.signal.aborted,
    async stop() {
      stopped.abort(new Error('the bus is stopped'));
    },
  };
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const made = make();
  map.set(key, made);
  return made;
}
