import { startStandalone } from '@rms/testkit';
import { openSettings, requestsPart, suitesOf } from './suites/all.ts';
import { describeShape } from './support/describe-shape.ts';

// The suites are in three files, so that they run in parallel: this one, standalone-events and standalone-guarded.
describe('The API', () => {
  describeShape('Standalone', () => startStandalone({ env: openSettings }), suitesOf(requestsPart));
});
