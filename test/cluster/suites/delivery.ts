import type { Stage } from '../support/stage.ts';
import { prepareLoad } from '../support/watched-load.ts';

const requests = 200;

export function deliverySuite(stage: () => Stage): void {
  describe('Webhooks', () => {
    test('from both environments are received in a pod, with valid signatures', async () => {
      const load = await prepareLoad(stage(), 'received');
      const traffic = load.start({ keptConnections: 2, newConnections: 1, retries: false });
      await traffic.waitForResponses(requests);
      await traffic.stop();
      expect(traffic.failures).toEqual([]);
      await load.expectNothingLost(traffic.created);
      await load.close();
    });
  });
}
