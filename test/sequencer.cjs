const { default: Sequencer } = require('@jest/test-sequencer');

/** Files that take minutes, the longest first. They begin first, so that no worker is idle at the end of a run. */
const slowest = [
  'test/faults/hostile-tenant.test.ts',
  'test/stores/distributed.test.ts',
  'test/api/standalone.test.ts',
  'test/faults/hostile-dashboard.test.ts',
  'standalone/test/faults/start.test.ts',
  'cli/test/several-workspaces.test.ts',
  'cli/test/webhooks.test.ts',
  'test/faults/revocation.test.ts',
];

/** Puts the slowest files first. The other files keep jest's order: failed files, then by duration or size. */
module.exports = class extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = slowest.findIndex((file) => path.endsWith(file));
      return index < 0 ? slowest.length : index;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
