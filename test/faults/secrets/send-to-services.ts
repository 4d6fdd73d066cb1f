import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient } from '@rms/rpc';
import type { Network } from '@rms/testkit';

/** Sends secrets where ids are expected, and a key instead of its hash. */
export async function sendToServices({ env }: Network, secret: string): Promise<void> {
  const webhooks = createClient(WebhooksService, { target: env.WEBHOOKS_ADDRESS ?? '', timeoutMs: 60_000 });
  const keys = createClient(KeysService, { target: env.AUTH_ADDRESS ?? '', timeoutMs: 60_000 });
  const tenant = { workspaceId: secret, environment: Environment.LIVE };
  await Promise.allSettled([
    webhooks.getWebhook({ ...tenant, id: secret }),
    webhooks.createWebhook({ ...tenant, url: secret, events: [secret] }),
    keys.revokeKey({ workspaceId: secret, id: secret }),
    keys.createKey({ ...tenant, name: secret.repeat(9) }),
    keys.batchVerifyKeys({ requests: [{ keyHash: Buffer.from(secret), environment: Environment.LIVE }] }),
    keys.batchFindKeys({ keyHashes: [Buffer.from(secret)] }),
  ]);
  webhooks.close();
  keys.close();
}
