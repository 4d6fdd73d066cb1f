import { BaseSequencer } from 'vitest/node';

/** Files that take minutes, the longest first. They begin first, so that no worker is idle at the end of a run. */
const slowest = [
  'test/faults/hostile-tenant.test.ts',
  'test/stores/distributed.test.ts',
  'test/api/standalone-events.test.ts',
  'test/api/standalone.test.ts',
  'test/api/standalone-guarded.test.ts',
  'test/faults/hostile-dashboard.test.ts',
  'standalone/test/faults/start.test.ts',
  'cli/test/several-workspaces.test.ts',
  'cli/test/webhooks.test.ts',
  'test/faults/revocation.test.ts',
];

/** Puts the slowest files first. The other files keep vitest's order: isolated files, failed files, by duration or size. */
export class SlowestFirst extends BaseSequencer {
  async sort(files) {
    const rank = ({ moduleId }) => {
      const index = slowest.findIndex((file) => moduleId.endsWith(file));
      return index < 0 ? slowest.length : index;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
