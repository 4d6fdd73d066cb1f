import { setMaxListeners } from 'node:events';
import type { Logger } from '@rms/service';
import { untilAborted, withDeadline } from './abort.ts';
import type { ConsumedRecord, EventBus, PublishBatch, Subscription } from './event-bus.ts';
import { handleUntilDone } from './handle-until-done.ts';

export interface InProcessBusOptions {
  readonly log?: Logger;
  /** How long publish() waits for a consumer that is not there (yet). */
  readonly consumerWaitMs?: number;
}

const publishTimeoutMs = 30_000;

/** A consumer group of a topic. It stays known when its consumer goes: what is published meanwhile waits for the next. */
interface Group {
  consumer: Consumer | undefined;
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
export function createInProcessBus({ log, consumerWaitMs = 5_000 }: InProcessBusOptions = {}): EventBus {
  const topics = new Map<string, Map<string, Group>>();
  const offsets = new Map<string, bigint>();
  const arrivals = new Set<() => void>();
  let stopped = newStop();

  const publish = async ({ topic, partition, records }: PublishBatch, signal: AbortSignal) => {
    const groups = getOrAdd(topics, topic, () => new Map<string, Group>());
    if (groups.size === 0) await consumerArrives(topic, () => groups.size > 0, signal);
    const offsetKey = `${topic}/${partition}`;
    const first = offsets.get(offsetKey) ?? 0n;
    offsets.set(offsetKey, first + BigInt(records.length));
    const consumed = records.map((record, i) => ({ ...record, partition, offset: String(first + BigInt(i)) }));
    await Promise.all(
      [...groups.values()].map(async (group) => {
        await consumerArrives(topic, () => group.consumer !== undefined, signal);
        if (group.consumer) await handOver(group.consumer, partition, consumed, signal);
      }),
    );
  };

  const consumerArrives = async (topic: string, isThere: () => boolean, signal: AbortSignal) => {
    if (isThere()) return;
    const patience = withDeadline(signal, consumerWaitMs, `waiting for a consumer of ${topic}`);
    let arrived = () => {};
    try {
      while (!isThere()) {
        const arrival = new Promise<void>((resolve) => {
          arrived = resolve;
        });
        arrivals.add(arrived);
        await untilAborted(arrival, patience.signal);
      }
    } finally {
      arrivals.delete(arrived);
      patience.end();
    }
  };

  const handOver = async (
    consumer: Consumer,
    partition: number,
    records: readonly ConsumedRecord[],
    signal: AbortSignal,
  ) => {
    const before = consumer.busy.get(partition) ?? Promise.resolve();
    const done = before.catch(() => {}).then(() => handle(consumer, records, signal));
    consumer.busy.set(partition, done);
    const free = () => {
      if (consumer.busy.get(partition) === done) consumer.busy.delete(partition);
    };
    done.then(free, free);
    await untilAborted(done, signal);
  };

  /** Hands the batch over until it is handled, unless the publisher gives up or the consumer goes. */
  const handle = async (consumer: Consumer, records: readonly ConsumedRecord[], publisher: AbortSignal) => {
    const ended = new AbortController();
    const end = () => ended.abort(new Error(`group ${consumer.subscription.group} has not handled the batch`));
    const sources = [consumer.signal, publisher];
    for (const source of sources) {
      if (source.aborted) end();
      source.addEventListener('abort', end, { once: true });
    }
    try {
      await handleUntilDone(consumer.subscription, records, ended.signal, log);
    } finally {
      for (const source of sources) source.removeEventListener('abort', end);
    }
  };

  return {
    async start() {
      if (stopped.signal.aborted) stopped = newStop();
    },
    async publish(batch, signal) {
      signal.throwIfAborted();
      stopped.signal.throwIfAborted();
      const deadline = withDeadline(signal, publishTimeoutMs, `publishing to ${batch.topic}`);
      try {
        await untilAborted(publish(batch, deadline.signal), stopped.signal);
      } finally {
        deadline.end();
      }
    },
    async consume(subscription, signal) {
      const groups = getOrAdd(topics, subscription.topic, () => new Map<string, Group>());
      const group = getOrAdd(groups, subscription.group, () => ({ consumer: undefined }));
      if (group.consumer) throw new Error(`group ${subscription.group} consumes ${subscription.topic} already`);
      const consumer: Consumer = { subscription, signal, busy: new Map() };
      group.consumer = consumer;
      for (const arrived of arrivals) arrived();
      arrivals.clear();
      subscription.onJoined?.();
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      group.consumer = undefined;
      await Promise.allSettled(consumer.busy.values());
    },
    lag: async () => [],
    healthy: async () => !stopped.signal.aborted,
    async stop() {
      stopped.abort(new Error('the bus is stopped'));
    },
  };
}

/** Every batch that is being published waits for it. */
function newStop(): AbortController {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  return stop;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const made = make();
  map.set(key, made);
  return made;
}
