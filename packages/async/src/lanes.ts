/** A queue with operations in amortized constant time. `Array.shift` moves all items of a long array. */
class Queue<T> {
  readonly #items: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    if (this.size === 0) {
      this.#items.length = 0;
      this.#first = 0;
    } else if (this.#first > 1_000 && this.#first > this.size) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}

interface Lane<T> {
  readonly name: string;
  readonly items: Queue<T>;
  /** Whether the lane is among the turns. */
  queued: boolean;
  held: boolean;
}

/**
 * Queued items of lanes in round-robin order, one item each, so that a lane with many items delays the others by one
 * item per turn. Items of a lane keep their order. All operations take amortized constant time, however many lanes
 * wait.
 */
export class Lanes<T> {
  /** Lanes with items, and held lanes. */
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #turns = new Queue<Lane<T>>();
  #size = 0;

  /** Number of items, including items of held lanes. */
  get size(): number {
    return this.#size;
  }

  push(name: string, item: T): void {
    const lane = this.#laneOf(name);
    lane.items.push(item);
    this.#size += 1;
    this.#enqueue(lane);
  }

  /**
   * Removes and returns the first item of the next lane in turn. The lane's next turn follows the turns of all other
   * lanes. Returns undefined if no lane has an item, except held ones.
   */
  shift(): T | undefined {
    for (let lane = this.#turns.shift(); lane; lane = this.#turns.shift()) {
      lane.queued = false;
      if (lane.held) continue;
      const item = lane.items.shift();
      this.#size -= 1;
      this.#enqueue(lane);
      this.#forgetIfEmpty(lane);
      return item;
    }
    return undefined;
  }

  /** Excludes a lane from the turns until it is released. */
  hold(name: string): void {
    this.#laneOf(name).held = true;
  }

  release(name: string): void {
    const lane = this.#laneOf(name);
    lane.held = false;
    this.#enqueue(lane);
    this.#forgetIfEmpty(lane);
  }

  #laneOf(name: string): Lane<T> {
    const present = this.#lanes.get(name);
    if (present) return present;
    const lane = { name, items: new Queue<T>(), queued: false, held: false };
    this.#lanes.set(name, lane);
    return lane;
  }

  #enqueue(lane: Lane<T>): void {
    if (lane.queued || lane.held || lane.items.size === 0) return;
    lane.queued = true;
    this.#turns.push(lane);
  }

  #forgetIfEmpty({ name, items, held }: Lane<T>): void {
    if (items.size === 0 && !held) this.#lanes.delete(name);
  }
}
