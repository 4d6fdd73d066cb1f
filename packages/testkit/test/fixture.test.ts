import { EventEmitter, once } from 'node:events';
import { disposable, perSuite, perTest } from '../src/index.ts';

describe('fixtures', () => {
  const log: string[] = [];
  const started = (name: string) => {
    log.push(`start ${name}`);
    return { name, stop: () => void log.push(`stop ${name}`) };
  };

  describe('of a suite and of each test', () => {
    const outer = perSuite(() => started('outer'));
    const inner = perSuite(async () => started(`inner of ${outer.name}`));
    const own = perTest(() => ({ ...started('own'), tests: 0 }));
    const closed = perTest(() => started('closed'), { end: ({ name }) => log.push(`close ${name}`) });
    test.each([1, 2])('stand for what has been started (%i)', () => {
      expect([outer, inner, own, closed].map(({ name }) => name)).toEqual(['outer', 'inner of outer', 'own', 'closed']);
      own.tests += 1;
      expect(own).toMatchObject({ name: 'own', tests: 1 });
      expect(Object.keys({ ...own })).toEqual(['name', 'stop', 'tests']);
    });
  });

  test('end in the reverse order of their start', () => {
    const ofTest = ['start own', 'start closed', 'close closed', 'stop own'];
    const ofSuite = ['start outer', 'start inner of outer', ...ofTest, ...ofTest, 'stop inner of outer', 'stop outer'];
    expect(log).toEqual(ofSuite);
  });

  test('of a block end with it, the last one first, also after an error', async () => {
    log.length = 0;
    const block = async () => {
      await using _first = disposable(started('first'));
      await using second = disposable({ ...started('second'), release: () => log.push('release second') }, 'release');
      throw new Error(second.name);
    };
    await expect(block).rejects.toThrow('second');
    expect(log).toEqual(['start first', 'start second', 'release second', 'stop first']);
  });

  describe('with a class', () => {
    const emitter = perSuite(() => new EventEmitter());
    const counter = perTest(
      () =>
        new (class {
          #count = 0;
          next = () => this.#count;
          add() {
            this.#count += 1;
            return this.#count;
          }
        })(),
    );
    test('have its methods', async () => {
      expect(emitter).toBeInstanceOf(EventEmitter);
      const heard = once(emitter, 'event');
      emitter.emit('event', 7);
      expect(await heard).toEqual([7]);
      expect([counter.add(), counter.add(), counter.next()]).toEqual([1, 2, 2]);
    });
  });

  const late = perSuite(() => ({ ofOuterSuite: true }));
  test('start before the first test of their suite, wherever they are declared', () => {
    expect(late).toEqual({ ofOuterSuite: true });
  });
  let error: unknown;
  try {
    late.ofOuterSuite;
  } catch (caught) {
    error = caught;
  }
  test('do not exist while tests are declared', () => {
    expect(error).toEqual(new Error('a fixture exists in hooks and tests only'));
  });
});
