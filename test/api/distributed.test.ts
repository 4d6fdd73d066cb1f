import { describeWith, startNetwork } from '@rms/testkit';
import { allSuites, openSettings } from './suites/all.ts';
import { guardedSettings, guardsSuite } from './suites/guards.ts';
import { describeShape } from './support/describe-shape.ts';

describeWith(['redis', 'kafka'], 'The API', () => {
  describeShape('Distributed', () => startNetwork({ env: openSettings }), allSuites);
  describeShape('Distributed, guarded', () => startNetwork({ env: guardedSettings }), guardsSuite);
});
