import { describeWith, startNetwork } from '@rms/testkit';
import { allSuites, openSettings } from '../api/suites/all.ts';
import { guardedSettings, guardsSuite } from '../api/suites/guards.ts';
import { describeShape } from '../api/support/describe-shape.ts';

describeWith(['redis', 'kafka'], 'The API', () => {
  describeShape('Distributed', () => startNetwork({ env: openSettings, dashboard: true }), allSuites);
  describeShape('Distributed, guarded', () => startNetwork({ env: guardedSettings }), guardsSuite);
});
