import { startStandalone } from '@rms/testkit';
import { allSuites, openSettings } from './suites/all.ts';
import { guardedSettings, guardsSuite } from './suites/guards.ts';
import { describeShape } from './support/describe-shape.ts';

describe('The API', () => {
  describeShape('Standalone', () => startStandalone({ env: openSettings }), allSuites);
  describeShape('Standalone, guarded', () => startStandalone({ env: guardedSettings }), guardsSuite);
});
