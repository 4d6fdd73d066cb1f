import { components } from '../support/release.ts';
import type { Stage } from '../support/stage.ts';
import { prepareLoad } from '../support/watched-load.ts';

const requests = 10_000;
/** Timeout of an upgrade that cannot succeed. */
const failingUpgradeMs = 45_000;

export function upgradeSuite(stage: () => Stage): void {
  describe('Upgrades', () => {
    test('helm upgrade under load fails none of 10,000 requests, and every event is delivered', async () => {
      const { release } = stage();
      const load = await prepareLoad(stage(), 'upgrade');
      const before = await uidsOf(stage());
      const traffic = load.start({ keptConnections: 4, newConnections: 2, retries: false });
      await traffic.waitForResponses(requests / 20);
      const annotated = { podAnnotations: { 'test/upgraded': 'yes' } };
      const pods = Object.fromEntries(components.map((component) => [component, annotated]));
      await release.upgrade({ ...pods, logLevel: 'info', observability: { sampler: 'always_off' } });
      await traffic.waitForResponses(requests);
      await traffic.stop();

      expect(traffic.failures).toEqual([]);
      expect(traffic.responded()).toBeGreaterThanOrEqual(requests);
      const after = await uidsOf(stage());
      expect(after.filter((uid) => before.includes(uid))).toEqual([]);
      await load.expectNothingLost(traffic.created);
      await load.close();
    }, 480_000);

    test('a failing upgrade rolls back automatically, and no request fails meanwhile', async () => {
      const { release } = stage();
      const load = await prepareLoad(stage(), 'rollback');
      const last = (await release.history()).at(-1);
      const traffic = load.start({ keptConnections: 4, newConnections: 2, retries: false });
      const wrong = { extraEnv: [{ name: 'RATE_LIMIT_REQUESTS', value: 'plenty' }] };
      await expect(release.upgrade({ gateway: wrong, resources: wrong }, failingUpgradeMs)).rejects.toThrow();
      await traffic.waitForResponses(traffic.responded() + requests / 20);
      await traffic.stop();

      expect(traffic.failures).toEqual([]);
      const history = await release.history();
      expect(history.at(-2)).toMatchObject({ status: 'failed' });
      expect(history.at(-1)).toMatchObject({ status: 'deployed', description: `Rollback to ${last?.revision}` });
      for (const component of components) await release.waitForPods(component);
      await load.expectNothingLost(traffic.created);
      await load.close();
    }, 300_000);
  });
}

async function uidsOf({ release }: Stage): Promise<string[]> {
  const pods = await Promise.all(components.map((component) => release.waitForPods(component)));
  return pods.flat().map(({ metadata }) => metadata.uid ?? '');
}
