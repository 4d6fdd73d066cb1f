import { startStandalone } from '@rms/testkit';
import { guardedSettings, guardsSuite } from './suites/guards.ts';
import { describeShape } from './support/describe-shape.ts';

describe('The API', () => {
  describeShape('Standalone, guarded', () => startStandalone({ env: guardedSettings }), guardsSuite);
});
