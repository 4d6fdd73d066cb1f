import { batchLimits, type PendingEvent } from './relay-queries.ts';

/** The committed events of a partition that are not read from the outbox, by the ID of their row. */
interface Handed {
  readonly events: Map<string, PendingEvent>;
  bytes: number;
}

/** Committed events that the relay publishes without reading them, at most one batch per partition. */
export class HandedEvents {
  readonly #partitions = new Map<number, Handed>();

  has(partition: number): boolean {
    return this.#partitions.has(partition);
  }

  /** Adds an event. Returns false if its partition has a full batch; {@link batchLimits} apply as when reading. */
  add(event: PendingEvent): boolean {
    const handed = this.#partitions.get(event.partition) ?? { events: new Map(), bytes: 0 };
    if (handed.events.size >= batchLimits.rows || handed.bytes >= batchLimits.bytes) return false;
    handed.events.set(event.id, event);
    handed.bytes += event.payload.length;
    this.#partitions.set(event.partition, handed);
    return true;
  }

  /** Removes and returns the events of the partitions that are ready. */
  take(isReady: (partition: number) => boolean): PendingEvent[] {
    const ready = [...this.#partitions].filter(([partition]) => isReady(partition));
    for (const [partition] of ready) this.#partitions.delete(partition);
    return ready.flatMap(([, { events }]) => [...events.values()]);
  }

  /** Removes events that have been read from the outbox. */
  removeRead(events: readonly PendingEvent[]): void {
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
