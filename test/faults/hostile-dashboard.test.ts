import { describeWith, perSuite } from '@rms/testkit';
import { forgerySuite } from './dashboard/forgery-suite.ts';
import { guessingSuite } from './dashboard/guessing-suite.ts';
import { isolationSuite } from './dashboard/isolation-suite.ts';
import { rolesSuite } from './dashboard/roles-suite.ts';
import { openWorld } from './dashboard/world.ts';

describeWith(['redis', 'kafka'], 'The dashboard under attack', () => {
  const world = perSuite(openWorld);

  describe('Isolation', () => isolationSuite(world));
  describe('Roles', () => rolesSuite(world));
  describe('Forged requests', () => forgerySuite(world));
  describe('Guessing', () => guessingSuite(world));
});
