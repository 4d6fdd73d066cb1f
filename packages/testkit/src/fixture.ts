import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testGlobals } from './test-globals.ts';

/** Functions that end a fixture; the first that exists is called. */
const endings = ['stop', 'close', 'drop', 'remove', 'uninstall', 'end'] as const;

interface Started<T> {
  readonly value: T;
  readonly end: () => unknown;
}

/** Running fixtures, in the order of their start. Fixtures of inner suites and of a test are on top. */
const running: Started<object>[] = [];

/**
 * Starts something before the tests of the enclosing suite or file, and ends it after them with its function stop,
 * close, drop, remove or uninstall. Fixtures end in the reverse order of their start. Hooks run in the order of their
 * declaration, so a hook that ends something that uses the fixture is declared before it.
 * @param end ends it in another way
 * @returns an object that stands for the started one in hooks and tests
 */
export function perSuite<T extends object>(
  start: () => T | Promise<T>,
  { end }: { end?: (started: T) => unknown } = {},
): T {
  const { beforeAll, afterAll } = testGlobals();
  const fixture = fixtureOf(start, end);
  beforeAll(fixture.begin);
  afterAll(fixture.finish);
  return fixture.proxy;
}

/** Like {@link perSuite}, for every test of the suite. */
export function perTest<T extends object>(
  start: () => T | Promise<T>,
  { end }: { end?: (started: T) => unknown } = {},
): T {
  const { beforeEach, afterEach } = testGlobals();
  const fixture = fixtureOf(start, end);
  beforeEach(fixture.begin);
  afterEach(fixture.finish);
  return fixture.proxy;
}

/**
 * Returns `started` for a declaration with `await using`, which ends it with its function stop, close, drop, remove,
 * uninstall or end when its block ends, also after an error.
 * @param ending name of another function that ends it
 */
export function disposable<T extends object>(started: T, ending?: keyof T & string): T & AsyncDisposable {
  return Object.assign(started, {
    [Symbol.asyncDispose]: async () => {
      await (ending ? (started[ending] as () => unknown)() : endOf(started));
    },
  });
}

/** Creates a folder of this user only, and removes it after the tests of the suite or file. Returns its path. */
export function suiteFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `rms-${name}-`));
  testGlobals().afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function fixtureOf<T extends object>(start: () => T | Promise<T>, end?: (started: T) => unknown) {
  let mine: Started<T> | undefined;
  return {
    proxy: standIn(() => {
      if (!mine) throw new Error('a fixture exists in hooks and tests only');
      return mine.value;
    }),
    async begin() {
      const value = await start();
      mine = { value, end: () => (end ? end(value) : endOf(value)) };
      running.push(mine);
    },
    /** Ends the fixtures that were started later, and this one. */
    async finish() {
      const index = mine ? running.indexOf(mine) : -1;
      if (index < 0) return;
      const errors: unknown[] = [];
      for (const started of running.splice(index).reverse()) {
        try {
          await started.end();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length === 1) throw errors[0];
      if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join('\n'));
    },
  };
}

/** Returns an object with the members of the object that `current` returns at each access. */
function standIn<T extends object>(current: () => T): T {
  return new Proxy({} as T, {
    get(_, name) {
      const object = current();
      const member: unknown = Reflect.get(object, name);
      // Methods of classes need their object.
      return typeof member === 'function' && !Object.hasOwn(object, name) ? member.bind(object) : member;
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
    has: (_, name) => Reflect.has(current(), name),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(current(), name),
    getPrototypeOf: () => Reflect.getPrototypeOf(current()),
  });
}

function endOf(started: object): unknown {
  const members = started as { [name in (typeof endings)[number]]?: () => unknown };
  const ending = endings.find((name) => typeof members[name] === 'function');
  return ending && members[ending]?.();
}
