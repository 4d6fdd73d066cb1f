import { startStandalone } from '@rms/testkit';
import { openSettings } from './suites/all.ts';
import { rmsConnectionsSuite } from './suites/rms-connections.ts';
import { rmsFollowingSuite } from './suites/rms-following.ts';
import { rmsObjectsSuite } from './suites/rms-objects.ts';
import { rmsScene } from './support/rms-scene.ts';

describe('rms with an API key, on a machine that knows only the address of the API', () => {
  const scene = rmsScene(() => startStandalone({ env: openSettings }));
  rmsObjectsSuite(scene);
  rmsConnectionsSuite(scene);
  rmsFollowingSuite(scene);
});
