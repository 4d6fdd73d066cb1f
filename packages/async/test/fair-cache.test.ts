import { FairCache } from '@rms/async';

/** Sets keys named after their workspace: `a1` belongs to `a`. */
const setAll = (cache: FairCache<number>, ...keys: string[]) => {
  for (const [index, key] of keys.entries()) cache.set(key[0] as string, key, index);
};

describe('a cache that workspaces share', () => {
  test('evicts the least recently used entry of the workspace with the most entries', () => {
    const cache = new FairCache<number>({ max: 4 });
    setAll(cache, 'b1', 'a1', 'a2', 'a3');
    cache.get('a1');
    setAll(cache, 'a4', 'c1');
    expect(cache.keys()).toEqual(['b1', 'a1', 'a4', 'c1']);
  });

  test('one workspace uses the whole cache until another needs it, which then gets an equal share', () => {
    const cache = new FairCache<number>({ max: 10 });
    const keysOf = (workspace: string) => Array.from({ length: 20 }, (_, index) => `${workspace}${index}`);
    const count = (workspace: string) => cache.keys().filter((key) => key.startsWith(workspace)).length;
    setAll(cache, ...keysOf('a'));
    expect(count('a')).toBe(10);
    setAll(cache, ...keysOf('b'));
    expect([count('a'), count('b')]).toEqual([5, 5]);
    setAll(cache, ...keysOf('a'));
    expect([count('a'), count('b')]).toEqual([5, 5]);
  });

  test('among workspaces with equally many entries, the one that was used least recently loses one', () => {
    const cache = new FairCache<number>({ max: 3 });
    setAll(cache, 'a1', 'b1', 'c1');
    cache.get('a1');
    cache.peek('b1');
    setAll(cache, 'd1');
    expect(cache.keys()).toEqual(['a1', 'c1', 'd1']);
  });

  test('entries have weights: the workspace that weighs the most loses its least recently used entries', () => {
    const cache = new FairCache<number>({ max: 10 });
    setAll(cache, 'a1', 'a2', 'b1', 'b2', 'b3');
    cache.weigh('a1', 5);
    cache.get('a1');
    cache.weigh('b1', 2);
    expect(cache.keys()).toEqual(['a1', 'a2', 'b1', 'b2', 'b3']);
    cache.weigh('a2', 3);
    expect(cache.keys()).toEqual(['a1', 'b1', 'b2', 'b3']);
    cache.weigh('b3', 9);
    expect(cache.keys()).toEqual(['a1']);
    cache.weigh('a1', 0);
    cache.weigh('unknown', 100);
    setAll(cache, 'b4');
    expect(cache.keys()).toEqual(['a1', 'b4']);
  });

  test('a workspace has its own limit', () => {
    const cache = new FairCache<number>({ max: 10, maxPerTenant: 4 });
    setAll(cache, 'a1', 'a2', 'b1');
    cache.weigh('a2', 3);
    expect(cache.keys()).toEqual(['a1', 'a2', 'b1']);
    cache.weigh('a2', 4);
    expect(cache.keys()).toEqual(['a2', 'b1']);
    cache.weigh('a2', 5);
    expect(cache.keys()).toEqual(['b1']);
  });

  test('entries expire after their TTL', () => {
    let nowMs = 0;
    const cache = new FairCache<number>({ max: 10, ttlMs: 100, nowMs: () => nowMs });
    cache.set('a', 'short', 1, 50);
    cache.set('a', 'long', 2);
    nowMs = 50;
    expect([cache.get('short'), cache.get('long'), cache.keys()]).toEqual([undefined, 2, ['long']]);
    nowMs = 100;
    expect([cache.peek('long'), cache.size]).toEqual([undefined, 0]);
  });

  test('every value that leaves the cache is disposed of once', () => {
    const disposed: number[] = [];
    const cache = new FairCache<number>({ max: 2, dispose: (value) => disposed.push(value) });
    cache.set('a', 'replaced', 1);
    cache.set('b', 'replaced', 2);
    cache.set('b', 'evicted', 3);
    cache.get('replaced');
    cache.set('b', 'kept', 4);
    cache.delete('replaced');
    cache.delete('unknown');
    cache.clear();
    expect(disposed).toEqual([1, 3, 2, 4]);
    expect([cache.size, cache.values()]).toEqual([0, []]);
  });

  test('random histories evict as a search of all workspaces would', () => {
    const max = 12;
    const cache = new FairCache<number>({ max });
    /** Keys, least recently used first. */
    let kept: string[] = [];
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const sizeOf = (workspace: string) => kept.filter((key) => key.startsWith(workspace)).length;
    for (let step = 0; step < 5_000; step += 1) {
      const key = `${'abcd'[random(4)]}${random(10)}`;
      const action = random(4);
      if (action === 0) cache.delete(key);
      else if (action === 1 && kept.includes(key)) cache.get(key);
      else if (action !== 1) cache.set(key[0] as string, key, step);
      else continue;
      kept = kept.filter((one) => one !== key);
      if (action !== 0) kept.push(key);
      if (kept.length > max) {
        const most = Math.max(...[...'abcd'].map(sizeOf));
        const evicted = kept.filter((one) => !cache.keys().includes(one));
        expect(evicted).toHaveLength(1);
        const [gone = ''] = evicted;
        expect(sizeOf(gone.slice(0, 1))).toBe(most);
        expect(kept.find((one) => one[0] === gone[0])).toBe(gone);
        kept = kept.filter((one) => one !== gone);
      }
      expect([...cache.keys()].sort()).toEqual([...kept].sort());
    }
  });
});
