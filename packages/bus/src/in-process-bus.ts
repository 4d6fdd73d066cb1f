import { setMaxListeners } from 'node:events';
import { untilAborted, withDeadline } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import {
  type ConsumedRecord,
  type EventBus,
  handleUntilDone,
  type PublishBatch,
  publishTimeoutMs,
  type Subscription,
} from './event-bus.ts';

export interface InProcessBusOptions {
  readonly log?: Logger;
  /** Maximum time that publish() waits for a missing consumer. */
  readonly consumerWaitMs?: number;
}

/**
 * A consumer group of a topic. It is kept when its consumer leaves; batches published until then wait for the next
 * consumer.
 */
interface Group {
  consumer: Consumer | undefined;
}

interface Consumer {
  readonly subscription: Subscription;
  readonly signal: AbortSignal;
  /** The last batch of each partition; the next batch waits for it. */
  readonly busy: Map<number, Promise<void>>;
}

/**
 * Creates a bus inside one process that stores nothing itself: publish() resolves when every group has handled the
 * batch. An acknowledged batch is therefore durable in the consumers' database, and a slow consumer slows the publisher
 * down (docs/adr/0003). A group has one consumer, so partitions are not shared.
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
    const waiting = withDeadline(signal, consumerWaitMs, `waiting for a consumer of ${topic}`);
    let arrived = () => {};
    try {
      while (!isThere()) {
        const arrival = new Promise<void>((resolve) => {
          arrived = resolve;
        });
        arrivals.add(arrived);
        await untilAborted(arrival, waiting.signal);
      }
    } finally {
      arrivals.delete(arrived);
      waiting.end();
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

  /** Handles the batch with retries until it succeeds, the publisher gives up or the consumer leaves. */
  const handle = async (consumer: Consumer, records: readonly ConsumedRecord[], publisher: AbortSignal) => {
    const ended = new AbortController();
    const end = () => ended.abort(new Error(`group ${consumer.subscription.group} did not handle the batch`));
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
      if (group.consumer) throw new Error(`group ${subscription.group} already consumes ${subscription.topic}`);
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

/** Removes the limit on listeners, because every batch in flight listens for the stop. */
function newStop(): AbortController {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  return stop;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const created = make();
  map.set(key, created);
  return created;
}
