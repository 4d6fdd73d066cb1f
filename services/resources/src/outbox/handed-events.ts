import { type CommittedEvent, isFull, type PendingEvent } from './relay-queries.ts';

/** The committed events of a partition that are not read from the outbox, by the ID of their row. */
interface Handed {
  readonly events: Map<string, CommittedEvent>;
  bytes: number;
  /** Time of the first of them, on the clock of `performance`. */
  readonly sinceMs: number;
}

/** Committed events that the relay publishes without reading them, at most one batch per partition. */
export class HandedEvents {
  readonly #partitions = new Map<number, Handed>();

  has(partition: number): boolean {
    return this.#partitions.has(partition);
  }

  /** Adds an event. Returns false if its partition has a full batch. */
  add(event: CommittedEvent): boolean {
    const known = this.#partitions.get(event.partition);
    const handed = known ?? { events: new Map(), bytes: 0, sinceMs: performance.now() };
    if (isFull({ rows: handed.events.size, bytes: handed.bytes })) return false;
    handed.events.set(event.id, event);
    handed.bytes += event.payload.length;
    this.#partitions.set(event.partition, handed);
    return true;
  }

  /** Removes and returns the events in partitions that are ready. */
  take(isReady: (partition: number) => boolean): PendingEvent[] {
    const ready = [...this.#partitions].filter(([partition]) => isReady(partition));
    for (const [partition] of ready) this.#partitions.delete(partition);
    const nowMs = performance.now();
    return ready.flatMap(([, { events, sinceMs }]) =>
      [...events.values()].map((event) => ({ ...event, waitedSeconds: (nowMs - sinceMs) / 1_000 })),
    );
  }

  /** Removes events that have been read from the outbox. */
  removeRead(events: readonly CommittedEvent[]): void {
    for (const { partition, id, payload } of events) {
      const handed = this.#partitions.get(partition);
      if (!handed?.events.delete(id)) continue;
      handed.bytes -= payload.length;
      if (handed.events.size === 0) this.#partitions.delete(partition);
    }
  }

  /** Removes all events of a partition. */
  drop(partition: number): void {
    this.#partitions.delete(partition);
  }

  clear(): void {
    this.#partitions.clear();
  }
}
