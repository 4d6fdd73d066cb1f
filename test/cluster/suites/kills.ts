import { perSuite, waitUntil } from '@rms/testkit';
import { isPodReady, type Pod } from '../support/kubernetes.ts';
import type { Stage } from '../support/stage.ts';
import { prepareLoad } from '../support/watched-load.ts';

/** Number of successful requests before the first kill and after each kill. */
const requestsBetween = 150;

export function killsSuite(stage: () => Stage): void {
  describe('kill -9 under load', () => {
    const load = perSuite(() => prepareLoad(stage(), 'kills'));

    for (const component of ['gateway', 'auth', 'resources', 'webhooks'] as const) {
      test(`of each pod of ${component}: every acknowledged create is kept, and its event is delivered`, async () => {
        const { release, tools } = stage();
        const traffic = load.start({ keptConnections: 3, newConnections: 1, retries: true });
        await traffic.waitForResponses(requestsBetween);
        for (const { metadata } of await release.pods(component)) {
          const now = async () => (await release.pods(component)).find((pod) => pod.metadata.uid === metadata.uid);
          const restarts = restartsOf(await now());
          await tools.kill(metadata.name);
          await waitUntil(
            async () => {
              const pod = await now();
              return restartsOf(pod) > restarts && pod !== undefined && isPodReady(pod);
            },
            { what: `${metadata.name} to be ready again`, timeoutMs: 90_000, everyMs: 250 },
          );
          await traffic.waitForResponses(traffic.responded() + requestsBetween);
        }
        await traffic.stop();
        expect(traffic.failures).toEqual([]);
        await load.expectNothingLost(traffic.created);
      }, 240_000);
    }
  });
}

function restartsOf(pod: Pod | undefined): number {
  return (pod?.status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}
