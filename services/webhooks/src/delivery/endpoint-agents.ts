import { setTimeout as delay } from 'node:timers/promises';
import type { SecretBox } from '@rms/secrets';
import { LRUCache } from 'lru-cache';
import { createGuardedAgent, type GuardedAgentOptions } from '../egress/guarded-agent.ts';
import type { OriginPools } from '../egress/origin-pools.ts';
import type { Endpoint } from './job.ts';

/** The HTTP clients of endpoints: one for all, and one for each that wants to see a certificate of ours. */
export interface EndpointAgents {
  of(webhookId: string, endpoint: Pick<Endpoint, 'clientCertificate' | 'clientKeySealed'>): OriginPools;
  close(): Promise<void>;
}

const agentsKept = 1_000;
const closeWithinMs = 1_000;

export function createEndpointAgents(options: GuardedAgentOptions, box: SecretBox): EndpointAgents {
  const shared = createGuardedAgent(options);
  const own = new LRUCache<string, OriginPools>({
    max: agentsKept,
    // Requests under way end first.
    dispose: (agent) => void agent.close().catch(() => {}),
  });
  return {
    of(webhookId, { clientCertificate: cert, clientKeySealed }) {
      if (!cert || !clientKeySealed) return shared;
      // A seal is never made twice: it names this key of this webhook.
      const name = `${webhookId}/${clientKeySealed.toString('base64', 0, 32)}`;
      let agent = own.get(name);
      if (!agent) {
        const key = box.open(clientKeySealed, webhookId).toString('utf8');
        agent = createGuardedAgent({ ...options, client: { cert, key } });
        own.set(name, agent);
      }
      return agent;
    },
    async close() {
      await Promise.all([shared, ...own.values()].map(closeSoon));
    },
  };
}

async function closeSoon(agent: OriginPools): Promise<void> {
  await Promise.race([agent.close(), delay(closeWithinMs, undefined, { ref: false }).then(() => agent.destroy())]);
}
