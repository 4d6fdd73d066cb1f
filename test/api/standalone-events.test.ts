import { startStandalone } from '@rms/testkit';
import { eventsPart, openSettings, suitesOf } from './suites/all.ts';
import { describeShape } from './support/describe-shape.ts';

describe('The API', () => {
  describeShape('Standalone', () => startStandalone({ env: openSettings }), suitesOf(eventsPart));
});
