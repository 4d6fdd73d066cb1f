import { Lanes } from '@rms/async';

/** The same lanes without bounds on the cost: every operation searches all of them. */
class NaiveLanes {
  #lanes: { name: string; items: number[] }[] = [];
  readonly #held = new Set<string>();

  push(name: string, item: number): void {
    const lane = this.#lanes.find((one) => one.name === name);
    if (lane) lane.items.push(item);
    else this.#lanes.push({ name, items: [item] });
  }

  shift(): number | undefined {
    const lane = this.#lanes.find(({ name }) => !this.#held.has(name));
    if (!lane) return undefined;
    this.#lanes = this.#lanes.filter((one) => one !== lane);
    if (lane.items.length > 1) this.#lanes.push({ name: lane.name, items: lane.items.slice(1) });
    return lane.items[0];
  }

  /** Held lanes have no turn; a released one follows the others. */
  hold(name: string): void {
    this.#held.add(name);
  }

  release(name: string): void {
    this.#held.delete(name);
    const lane = this.#lanes.find((one) => one.name === name);
    if (lane) this.#lanes = [...this.#lanes.filter((one) => one !== lane), lane];
  }
}

describe('lanes', () => {
  test('take turns, and keep the order of their items', () => {
    const lanes = new Lanes<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) lanes.push(item.slice(0, 1), item);
    expect(lanes.size).toBe(6);
    expect(Array.from({ length: 7 }, () => lanes.shift())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
    expect(lanes.size).toBe(0);
  });

  test('have no turn while they are held', () => {
    const lanes = new Lanes<string>();
    for (const item of ['a1', 'a2', 'b1']) lanes.push(item.slice(0, 1), item);
    expect(lanes.shift()).toBe('a1');
    lanes.hold('a');
    expect([lanes.shift(), lanes.shift()]).toEqual(['b1', undefined]);
    lanes.push('a', 'a3');
    lanes.push('b', 'b2');
    expect([lanes.shift(), lanes.size]).toEqual(['b2', 2]);
    lanes.release('a');
    lanes.release('unknown');
    expect([lanes.shift(), lanes.shift(), lanes.shift()]).toEqual(['a2', 'a3', undefined]);
  });

  test('with random histories give the same turns as a search of all lanes', () => {
    const [lanes, naive] = [new Lanes<number>(), new NaiveLanes()];
    /** As in batches: a lane is held when it has no turn among the others, directly after its items were taken. */
    const held = new Set<string>();
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let step = 0; step < 20_000; step += 1) {
      const name = `lane ${random(random(2) === 0 ? 2 : 40)}`;
      const action = random(10);
      if (action < 5) {
        lanes.push(name, step);
        naive.push(name, step);
      } else if (action < 9) {
        expect(lanes.shift()).toBe(naive.shift());
      } else if (held.delete(name)) {
        // Drains the other lanes' turns, so that the held one is not among them.
        for (let item = naive.shift(); item !== undefined; item = naive.shift()) expect(lanes.shift()).toBe(item);
        expect(lanes.shift()).toBeUndefined();
        lanes.release(name);
        naive.release(name);
      } else {
        held.add(name);
        lanes.hold(name);
        naive.hold(name);
      }
    }
  });

  test('with many items of one lane are taken in order', () => {
    const lanes = new Lanes<number>();
    for (let i = 0; i < 5_000; i += 1) lanes.push('a', i);
    const taken = Array.from({ length: 3_000 }, () => lanes.shift());
    for (let i = 5_000; i < 9_000; i += 1) lanes.push('a', i);
    while (lanes.size > 0) taken.push(lanes.shift());
    expect(taken).toEqual(Array.from({ length: 9_000 }, (_, i) => i));
  });
});
