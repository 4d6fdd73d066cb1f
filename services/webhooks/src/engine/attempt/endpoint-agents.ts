import { FairCache, waitAtMost } from '@rms/async';
import type { SecretBox } from '@rms/base/secrets';
import { createGuardedAgent, type GuardedAgentOptions, OpenConnections, type OriginPools } from '@rms/net/guarded-http';
import { clientKeyContext, type WebhookRef } from '../../secrets/contexts.ts';
import type { Endpoint } from '../../webhook/webhook-queries.ts';

export type EndpointAgents = ReturnType<typeof createEndpointAgents>;

/** Creates the HTTP clients for endpoints: one shared client, and one per webhook with a client certificate. */
export function createEndpointAgents(given: Omit<GuardedAgentOptions, 'connections'>, box: SecretBox) {
  const options = { ...given, connections: new OpenConnections() };
  const shared = createGuardedAgent(options);
  const own = new FairCache<OriginPools>({
    max: 1_000,
    // close() waits for the running requests.
    dispose: (agent) => void agent.close().catch(() => {}),
  });
  return {
    of(webhook: WebhookRef, endpoint: Pick<Endpoint, 'clientCertificate' | 'clientKeySealed'>): OriginPools {
      const { clientCertificate: cert, clientKeySealed } = endpoint;
      if (!cert || !clientKeySealed) return shared;
      // Every encryption produces a different ciphertext, so its first bytes identify the client key.
      const name = `${webhook.webhookId}/${clientKeySealed.toString('base64', 0, 32)}`;
      let agent = own.get(name);
      if (!agent) {
        const key = box.open(clientKeySealed, clientKeyContext(webhook)).toString('utf8');
        // Its URL has one origin, and the pool of its previous URL may have running requests.
        agent = createGuardedAgent({ ...options, client: { cert, key }, poolsKept: 2 });
        own.set(webhook.workspaceId, name, agent);
      }
      return agent;
    },
    async close(): Promise<void> {
      await Promise.all([shared, ...own.values()].map(closeSoon));
    },
  };
}

async function closeSoon(agent: OriginPools): Promise<void> {
  const closed = agent.close().then(() => true);
  if (!(await waitAtMost(closed, 1_000))) await agent.destroy();
}
