import { FairQueue } from '@rms/async';

/** The same queue without bounds on the cost: every operation searches all tenants. */
class NaiveQueue {
  #tenants: { name: string; items: number[] }[] = [];
  readonly #held = new Set<string>();

  push(name: string, item: number): void {
    const tenant = this.#tenants.find((one) => one.name === name);
    if (tenant) tenant.items.push(item);
    else this.#tenants.push({ name, items: [item] });
  }

  shift(): number | undefined {
    const tenant = this.#tenants.find(({ name }) => !this.#held.has(name));
    if (!tenant) return undefined;
    this.#tenants = this.#tenants.filter((one) => one !== tenant);
    if (tenant.items.length > 1) this.#tenants.push({ name: tenant.name, items: tenant.items.slice(1) });
    return tenant.items[0];
  }

  /** Held tenants are left out; a released one follows the others. */
  hold(name: string): void {
    this.#held.add(name);
  }

  release(name: string): void {
    this.#held.delete(name);
    const tenant = this.#tenants.find((one) => one.name === name);
    if (tenant) this.#tenants = [...this.#tenants.filter((one) => one !== tenant), tenant];
  }
}

describe('tenants of a queue', () => {
  test('are served round-robin, and keep the order of their items', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(item.slice(0, 1), item);
    expect(queue.size).toBe(6);
    expect(Array.from({ length: 7 }, () => queue.shift())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
    expect(queue.size).toBe(0);
  });

  test('are left out while they are held', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) queue.push(item.slice(0, 1), item);
    expect(queue.shift()).toBe('a1');
    queue.hold('a');
    expect([queue.shift(), queue.shift()]).toEqual(['b1', undefined]);
    queue.push('a', 'a3');
    queue.push('b', 'b2');
    expect([queue.shift(), queue.size]).toEqual(['b2', 2]);
    queue.release('a');
    queue.release('unknown');
    expect([queue.shift(), queue.shift(), queue.shift()]).toEqual(['a2', 'a3', undefined]);
  });

  test('with random histories have the same order as a search of all tenants', () => {
    const [queue, naive] = [new FairQueue<number>(), new NaiveQueue()];
    /** As in batches: a tenant is held when it is not in the order of the others, directly after its items were taken. */
    const held = new Set<string>();
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let step = 0; step < 20_000; step += 1) {
      const name = `tenant ${random(random(2) === 0 ? 2 : 40)}`;
      const action = random(10);
      if (action < 5) {
        queue.push(name, step);
        naive.push(name, step);
      } else if (action < 9) {
        expect(queue.shift()).toBe(naive.shift());
      } else if (held.delete(name)) {
        // Drains the other tenants, so that the held one is not in their order.
        for (let item = naive.shift(); item !== undefined; item = naive.shift()) expect(queue.shift()).toBe(item);
        expect(queue.shift()).toBeUndefined();
        queue.release(name);
        naive.release(name);
      } else {
        held.add(name);
        queue.hold(name);
        naive.hold(name);
      }
    }
  });

  test('with many items are served in order', () => {
    const queue = new FairQueue<number>();
    for (let i = 0; i < 5_000; i += 1) queue.push('a', i);
    const taken = Array.from({ length: 3_000 }, () => queue.shift());
    for (let i = 5_000; i < 9_000; i += 1) queue.push('a', i);
    while (queue.size > 0) taken.push(queue.shift());
    expect(taken).toEqual(Array.from({ length: 9_000 }, (_, i) => i));
  });
});
