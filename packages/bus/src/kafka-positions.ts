import { createHash } from 'node:crypto';
import { abortableDelay, untilAborted } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import type { Admin, Consumer } from 'kafkajs';
import { type BatchRange, type ConsumedRecord, firstRetryMs, maxRetryMs, type PositionStore } from './event-bus.ts';
import { chooseStart, replacedStart, type Start } from './kafka-start.ts';

/** A batch as kafkajs fetched it. */
export interface FetchedBatch {
  readonly partition: number;
  /** Offset of the fetch. */
  readonly fetched: bigint;
  /** Offset of the last record, or of a later marker of a transaction. */
  readonly lastOffset: bigint;
  readonly records: readonly ConsumedRecord[];
  /** Returns whether the consumer will read elsewhere than after this batch. */
  isStale(): boolean;
}

/** A batch with records that continue the stored position. */
export interface EnteredBatch {
  /** The records that have not been handled before; may be empty. */
  readonly records: readonly ConsumedRecord[];
  readonly range: BatchRange;
  /** Call it when the records are handled. */
  handled(): void;
}

/** Where a consumer reads the partitions that are assigned to it. */
export interface Positions {
  /**
   * Resolves when the partition's position is known, to the batch's part that continues it; to undefined if the
   * consumer now reads elsewhere. The batch must then be dropped.
   */
  enter(batch: FetchedBatch, signal: AbortSignal): Promise<EnteredBatch | undefined>;
  /** Continues at the stored position of a partition, which is before the records that were handled. */
  rewind(partition: number, signal: AbortSignal): Promise<void>;
  /** Text to commit with a partition's offset. */
  metadataOf(partition: number): string | null;
}

export interface PositionsParts {
  readonly consumer: Consumer;
  readonly admin: Pick<Admin, 'fetchOffsets' | 'fetchTopicOffsets'>;
  readonly topic: string;
  readonly group: string;
  readonly store: PositionStore;
  /** Aborts when the consumer ends. */
  readonly over: AbortSignal;
  /** Called after each join of the group, when the positions of all assigned partitions are known. */
  readonly onPlaced: () => void;
  readonly log: Logger;
}

/** The position in an assigned partition. */
interface Place {
  /** End of the handled records. */
  next: bigint;
  /** Offset of the next fetch. Between `next` and this offset are no records. */
  fetch: bigint;
  last: string | undefined;
  /** Epoch of the store when `next` was certainly reached. */
  epoch: number;
}

/** The broker's knowledge about a group's partition. */
interface Committed {
  /** Undefined if it has none. */
  readonly offset: bigint | undefined;
  /** Epoch of the store at the commit; undefined if the committing consumer had no store. */
  readonly epoch: number | undefined;
}

/** Interval of checks whether the store has gone back while no record arrives. */
const checkMs = 10_000;
const markerPrefix = 'rms epoch ';

/**
 * Reads each assigned partition from the store's position, and notices when that does not continue the records that the
 * group has handled: at each join, with each batch, and every ten seconds (docs/adr/0030). The record before the
 * position is read again, to recognize the log by its digest.
 */
export function createPositions(parts: PositionsParts): Positions {
  const { consumer, admin, topic, group, store, over, onPlaced, log } = parts;
  let places = new Map<number, Place>();
  let assigned: readonly number[] = [];
  /** The running decisions; one at a time. */
  let deciding: Promise<void> = Promise.resolve();

  /** Runs after the earlier decisions, and repeats until it succeeds, or the partitions have been assigned again. */
  const decide = (work: () => Promise<void>): Promise<void> => {
    const assignment = assigned;
    const repeat = async () => {
      for (let retryMs = firstRetryMs; assigned === assignment; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
        over.throwIfAborted();
        try {
          return await work();
        } catch (err) {
          over.throwIfAborted();
          log.warn({ err, group, topic }, 'cannot determine the position of a consumer yet; retrying');
          await abortableDelay(retryMs, over);
        }
      }
    };
    deciding = deciding.catch(() => {}).then(repeat);
    deciding.catch(() => {});
    return deciding;
  };

  const readEnds = async () => {
    const ends = await admin.fetchTopicOffsets(topic);
    return new Map(ends.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
  };

  /**
   * Places partitions. `reached` must have been determined before, and the partitions' ends are read last: the store
   * advances before that if another consumer still handles a batch.
   */
  const place = async (partitions: readonly number[], committed: ReadonlyMap<number, Committed>): Promise<void> => {
    const { epoch, positions } = await store.read(partitions);
    const ends = await readEnds();
    for (const partition of partitions) {
      const end = ends.get(partition);
      if (!end) throw new Error(`topic ${topic} has no partition ${partition}`);
      const { offset, epoch: reachedEpoch } = committed.get(partition) ?? {};
      const stored = positions.get(partition);
      const isMarked = reachedEpoch !== undefined;
      const start = chooseStart({
        stored,
        reached: isMarked ? offset : undefined,
        adopted: isMarked ? undefined : offset,
        ...end,
      });
      const endedEpoch = start.loss?.reason === 'replaced' ? epoch : start.behind > 0n ? reachedEpoch : undefined;
      await go(partition, start, { was: stored?.next, endedEpoch, epoch });
      const isCommitted = isMarked && offset === start.next && reachedEpoch === places.get(partition)?.epoch;
      if (!isCommitted) commit(partition);
    }
  };

  /** Stores the decision if it changes anything, and seeks. */
  const go = async (
    partition: number,
    start: Start,
    { was, endedEpoch, epoch }: { was: bigint | undefined; endedEpoch: number | undefined; epoch: number },
  ) => {
    const { next, last, loss, behind } = start;
    let now = epoch;
    if (next !== was || endedEpoch !== undefined) {
      const moved = await store.move({ partition, was, next, loss, endedEpoch });
      if (moved === undefined) throw new Error(`the stored position in partition ${partition} has changed`);
      now = moved;
    }
    report(partition, start, was);
    const fetch = last === undefined ? next : next - 1n;
    places.set(partition, { next, fetch, last, epoch: now });
    consumer.seek({ topic, partition, offset: String(fetch) });
    if (behind > 0n) {
      log.warn(
        { topic, group, partition, records: Number(behind), position: String(next) },
        `the database is behind Kafka by ${behind} records, which are read again`,
      );
    }
  };

  const report = (partition: number, { next, loss }: Start, was: bigint | undefined) => {
    if (!loss) return;
    const fields = { topic, group, partition, position: was === undefined ? null : String(was), next: String(next) };
    if (loss.reason === 'replaced') {
      log.error(fields, 'the topic was replaced, or its log was truncated; continuing with its oldest record');
      return;
    }
    const records = loss.range && Number(loss.range[1] - loss.range[0]);
    log.error(
      { ...fields, records: records ?? null },
      'records were deleted before the group consumed them; continuing with the oldest record of the partition',
    );
  };

  /** Lets the broker compute the lag from a position that was not reached by handling records. */
  const commit = (partition: number) => {
    const { next } = places.get(partition) ?? {};
    if (next === undefined) return;
    const offset = { topic, partition, offset: String(next), metadata: metadataOf(partition) };
    consumer.commitOffsets([offset]).catch((err: unknown) => log.debug({ err }, 'offset commit failed'));
  };

  const metadataOf = (partition: number) => {
    const { epoch } = places.get(partition) ?? {};
    return epoch === undefined ? null : `${markerPrefix}${epoch}`;
  };

  const readCommitted = async (): Promise<ReadonlyMap<number, Committed>> => {
    const [offsets] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
    return new Map(
      offsets?.partitions.map(({ partition, offset, metadata }) => {
        const epoch = metadata?.startsWith(markerPrefix) ? Number(metadata.slice(markerPrefix.length)) : undefined;
        return [
          partition,
          Number(offset) < 0 ? { offset: undefined, epoch: undefined } : { offset: BigInt(offset), epoch },
        ];
      }),
    );
  };

  const reachedAt = (partition: number): [number, Committed][] => {
    const known = places.get(partition);
    return known ? [[partition, { offset: known.next, epoch: known.epoch }]] : [];
  };
  const replace = (partition: number) =>
    decide(async () => {
      if (places.has(partition)) await place([partition], new Map(reachedAt(partition)));
    });

  /** Continues at the oldest record of a partition with another log. */
  const startOver = (partition: number, was: bigint) =>
    decide(async () => {
      if (!places.has(partition)) return;
      const { epoch } = await store.read([partition]);
      const end = (await readEnds()).get(partition);
      if (!end) throw new Error(`topic ${topic} has no partition ${partition}`);
      await go(partition, replacedStart(end.low), { was, endedEpoch: epoch, epoch });
      commit(partition);
    });

  /** Notices a store that has gone back while no record arrives. */
  const check = async () => {
    const before = new Map([...places.keys()].flatMap(reachedAt));
    if (before.size === 0) return;
    const { epoch, positions } = await store.read([...before.keys()]);
    for (const [partition, { offset = 0n }] of before) {
      const current = places.get(partition);
      if ((positions.get(partition)?.next ?? -1n) < offset) await replace(partition);
      else if (current) current.epoch = Math.max(current.epoch, epoch);
    }
  };

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    assigned = payload.memberAssignment[topic] ?? [];
    places = new Map();
    const current = assigned;
    decide(async () => {
      await place(current, await readCommitted());
      if (assigned === current) onPlaced();
    }).catch(() => {});
  });
  // kafkajs skips batches that contain only markers of transactions.
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
    const current = places.get(payload.partition);
    const isSkipped = payload.topic === topic && payload.batchSize === 0;
    if (isSkipped && current?.fetch === BigInt(payload.firstOffset)) current.fetch = BigInt(payload.lastOffset) + 1n;
  });
  let checking = false;
  const timer = setInterval(() => {
    if (checking) return;
    checking = true;
    check()
      .catch((err: unknown) => log.debug({ err }, 'cannot check the stored positions'))
      .finally(() => {
        checking = false;
      });
  }, checkMs);
  over.addEventListener('abort', () => clearInterval(timer), { once: true });

  return {
    async enter({ partition, fetched, lastOffset, records, isStale }, signal) {
      await untilAborted(deciding, signal);
      const current = places.get(partition);
      if (!current || isStale()) return undefined;
      const { next, fetch, last } = current;
      if (fetched !== fetch) {
        await untilAborted(replace(partition), signal);
        return undefined;
      }
      const before = fetch < next ? records.find(({ offset }) => BigInt(offset) === next - 1n) : undefined;
      if (before && digestOf(before) !== last) {
        await untilAborted(startOver(partition, next), signal);
        return undefined;
      }
      const rest = records.filter(({ offset }) => BigInt(offset) >= next);
      const end = rest.at(-1);
      const after = end ? { next: lastOffset + 1n, last: digestOf(end) } : { next, last };
      return {
        records: rest,
        range: { partition, from: next, next: after.next, last: after.last ?? '' },
        handled: () => void Object.assign(current, { ...after, fetch: lastOffset + 1n }),
      };
    },
    rewind: (partition, signal) => untilAborted(replace(partition), signal),
    metadataOf,
  };
}

/** Returns a digest that distinguishes a topic's records. */
function digestOf({ key, value }: ConsumedRecord): string {
  return createHash('sha256').update(key).update('\0').update(value).digest('base64url').slice(0, 16);
}
