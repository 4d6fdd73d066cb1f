import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import testSequencer from '@jest/test-sequencer';

/** Its types describe the CommonJS build, where the class is a module member. */
const TestSequencer = /** @type {typeof testSequencer.default} */ (/** @type {unknown} */ (testSequencer));

/** The files that take longest. They begin first, so that no worker is idle at a run's end. */
const slowest = [
  'test/faults/hostile-tenant.test.ts',
  'test/stores/distributed.test.ts',
  'test/api/standalone-events.test.ts',
  'test/api/standalone.test.ts',
  'test/api/standalone-guarded.test.ts',
  'test/api/standalone-rms.test.ts',
  'test/faults/hostile-dashboard.test.ts',
  'standalone/test/faults/start.test.ts',
  'test/faults/revocation.test.ts',
  'services/alerts/test/every-rule.test.ts',
  'services/alerts/test/email.test.ts',
  'services/auth/test/user/guessing.test.ts',
  'standalone/test/ended-deliveries.test.ts',
  'cli/test/users.test.ts',
  'services/dashboard/test/tail.test.ts',
  'services/resources/test/outbox/relay.test.ts',
];

/**
 * Puts the slowest files first. The other files keep jest's order: failed files, then by duration or size. With
 * TEST_SHUFFLE, all files are in a random order, which jest's option --seed repeats.
 */
export default class extends TestSequencer {
  #seed;

  constructor(options) {
    super(options);
    this.#seed = options.globalConfig.seed;
  }

  async sort(tests) {
    const sorted = await super.sort(tests);
    const rankOf = process.env.TEST_SHUFFLE ? (test) => this.#randomRank(test) : slowestRank;
    return sorted
      .map((test) => ({ test, rank: rankOf(test) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ test }) => test);
  }

  #randomRank({ path, context }) {
    const file = relative(context.config.rootDir, path);
    return createHash('sha256').update(`${this.#seed} ${file}`).digest().readUInt32BE();
  }
}

function slowestRank({ path }) {
  const index = slowest.findIndex((file) => path.endsWith(file));
  return index < 0 ? slowest.length : index;
}
