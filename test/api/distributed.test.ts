import { startNetwork } from '@rms/testkit';
import { allSuites, openSettings } from './suites/all.ts';
import { guardedSettings, guardsSuite } from './suites/guards.ts';
import { describeShape } from './support/describe-shape.ts';

describeShape('Distributed', () => startNetwork({ env: openSettings }), allSuites);
describeShape('Distributed, guarded', () => startNetwork({ env: guardedSettings }), guardsSuite);
