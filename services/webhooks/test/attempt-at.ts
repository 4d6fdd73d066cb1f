import { makeSecret, toSigningSecret } from '@rms/base/signature';
import type { OriginPools } from '@rms/net/guarded-http';
import { send } from '../src/engine/attempt.ts';

const secrets = { current: toSigningSecret(makeSecret()), previous: undefined, headers: {} };

/** The endpoint of a webhook without custom settings. */
export const endpointAt = (url: string) => ({ url, headers: {}, timeoutMs: 10_000, signatureAlias: undefined });

/** Makes one attempt at `url`, signed with a secret of this module. */
export function attemptAt(url: string, agent: OriginPools) {
  return send(agent, secrets, {
    endpoint: endpointAt(url),
    eventId: 'evt_1',
    requestId: 'req_1',
    traceparent: '',
    workspaceId: 'ws_1',
    body: Buffer.from('{}'),
  });
}

/** The same, with an agent that no further attempt uses. */
export async function soleAttemptAt(url: string, agent: OriginPools) {
  try {
    return await attemptAt(url, agent);
  } finally {
    await agent.destroy();
  }
}
