import { FairCache, waitAtMost } from '@rms/async';
import type { SecretBox } from '@rms/base/secrets';
import type { OriginPools } from '@rms/net/guarded-http';
import { createGuardedAgent, type GuardedAgentOptions, OpenConnections } from '@rms/net/guarded-http';
import { clientKeyContext, type WebhookRef } from '../../secrets/contexts.ts';
import type { Endpoint } from '../../webhook/endpoint-queries.ts';

/** The HTTP clients for endpoints: one shared client, and one per webhook with a client certificate. */
export interface EndpointAgents {
  of(webhook: WebhookRef, endpoint: Pick<Endpoint, 'clientCertificate' | 'clientKeySealed'>): OriginPools;
  close(): Promise<void>;
}

const agentsKept = 1_000;
/** Pools per agent of a webhook: its URL has one origin, and the pool of its previous URL may have running requests. */
const poolsOfWebhook = 2;
const closeWithinMs = 1_000;

export function createEndpointAgents(given: Omit<GuardedAgentOptions, 'connections'>, box: SecretBox): EndpointAgents {
  const options = { ...given, connections: new OpenConnections() };
  const shared = createGuardedAgent(options);
  const own = new FairCache<OriginPools>({
    max: agentsKept,
    // close() waits for the running requests.
    dispose: (agent) => void agent.close().catch(() => {}),
  });
  return {
    of(webhook, { clientCertificate: cert, clientKeySealed }) {
      if (!cert || !clientKeySealed) return shared;
      // Every encryption produces a different ciphertext, so its first bytes identify the client key.
      const name = `${webhook.webhookId}/${clientKeySealed.toString('base64', 0, 32)}`;
      let agent = own.get(name);
      if (!agent) {
        const key = box.open(clientKeySealed, clientKeyContext(webhook)).toString('utf8');
        agent = createGuardedAgent({ ...options, client: { cert, key }, poolsKept: poolsOfWebhook });
        own.set(webhook.workspaceId, name, agent);
      }
      return agent;
    },
    async close() {
      await Promise.all([shared, ...own.values()].map(closeSoon));
    },
  };
}

async function closeSoon(agent: OriginPools): Promise<void> {
  const closed = agent.close().then(() => true);
  if (!(await waitAtMost(closed, closeWithinMs))) await agent.destroy();
}
