import { waitUntil } from '@rms/testkit';
import { getState } from 'jest-circus';
import { request } from 'undici';
import { allSuites } from '../api/suites/all.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { newAccount, type Target } from '../api/support/shape.ts';
import { autoscalingSuite } from './suites/autoscaling.ts';
import { deliverySuite } from './suites/delivery.ts';
import { installationSuite } from './suites/installation.ts';
import { killsSuite } from './suites/kills.ts';
import { networkPoliciesSuite } from './suites/network-policies.ts';
import { removalSuite } from './suites/removal.ts';
import { upgradeSuite } from './suites/upgrade.ts';
import { walkSuite } from './suites/walk.ts';
import { withOneKeySuite } from './suites/with-one-key.ts';
import { type StagedRelease, setStage } from './support/set-stage.ts';
import { stopTraffic } from './support/traffic.ts';
import { warningsOfPods } from './support/warnings-of-pods.ts';

/** All suites run in order on one release, because an installation takes longer than most of them. */
describe('On Kubernetes', () => {
  let staged: StagedRelease | undefined;
  let target: Target | undefined;

  beforeAll(async () => {
    staged = await setStage();
    const { shape } = staged;
    // The ingress controller must pick up the Ingress first.
    await waitUntil(
      async () => {
        const { statusCode, body } = await request(`${shape.liveUrl}/readyz`, { dispatcher: shape.dispatcher });
        await body.dump();
        return statusCode === 200;
      },
      { what: 'the ingress to route to the gateway', timeoutMs: 60_000, everyMs: 250 },
    );
    target = { shape, contract: await readContract(shape.liveUrl, shape.dispatcher) };
  }, 600_000);
  afterEach(stopTraffic, 60_000);
  afterEach(async () => {
    if (staged && getState().currentlyRunningTest?.errors.length) {
      throw new Error(`Warnings in the logs of the pods:\n${await warningsOfPods(staged.stage.release.kubernetes)}`);
    }
  }, 60_000);
  afterAll(() => staged?.remove(), 300_000);

  const stage = () => {
    if (!staged || !target) throw new Error('the release was not installed');
    const found = target;
    return { ...staged.stage, newAccount: () => newAccount(found) };
  };

  installationSuite(stage);
  walkSuite(stage);
  allSuites(() => {
    if (!target) throw new Error('the release was not installed');
    return target;
  });
  withOneKeySuite(stage);
  deliverySuite(stage);
  networkPoliciesSuite(stage);
  upgradeSuite(stage);
  killsSuite(stage);
  autoscalingSuite(stage);
  removalSuite(stage);
});
