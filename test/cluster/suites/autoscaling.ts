import { waitUntil } from '@rms/testkit';
import type { Stage } from '../support/stage.ts';
import { prepareLoad } from '../support/watched-load.ts';

interface Autoscaler {
  readonly status?: {
    readonly desiredReplicas?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

const maxReplicas = 3;

export function autoscalingSuite(stage: () => Stage): void {
  describe('Autoscaling', () => {
    test('the gateway scales up under load, no request fails meanwhile, and no event is lost', async () => {
      const { release } = stage();
      const load = await prepareLoad(stage(), 'autoscaling');
      const traffic = load.start({ keptConnections: 4, newConnections: 1, retries: false });
      // A target so low that any load exceeds it.
      const autoscaling = { enabled: true, minReplicas: 2, maxReplicas, targetCPU: 20 };
      await release.upgrade({ gateway: { autoscaling } });
      await waitUntil(async () => (await release.waitForPods('gateway')).length === maxReplicas, {
        what: `${maxReplicas} pods of gateway`,
        timeoutMs: 240_000,
        everyMs: 1_000,
      }).catch(async (error: Error) => {
        const { status } = await release.kubernetes.get<Autoscaler>('hpa', `${release.name}-gateway`);
        throw new Error(`${error.message}; the autoscaler reports ${JSON.stringify(status)}`);
      });
      await traffic.waitForResponses(traffic.responded() + 500);
      await traffic.stop();
      expect(traffic.failures).toEqual([]);
      const { status } = await release.kubernetes.get<Autoscaler>('hpa', `${release.name}-gateway`);
      expect(status?.desiredReplicas).toBe(maxReplicas);
      await load.expectNothingLost(traffic.created);
      await load.close();
    }, 420_000);
  });
}
