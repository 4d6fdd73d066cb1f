import type { SealContext } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';

/** A webhook's key. */
export interface WebhookRef extends Tenant {
  readonly webhookId: string;
}

/** Returns a signing secret's context, current or previous. */
export function secretContext({ workspaceId, environment, webhookId }: WebhookRef): SealContext {
  return { purpose: 'webhook secret', workspaceId, environment, id: webhookId };
}

/** Returns the context for a client certificate's private key. */
export function clientKeyContext({ workspaceId, environment, webhookId }: WebhookRef): SealContext {
  return { purpose: 'webhook client key', workspaceId, environment, id: webhookId };
}

/** Returns the context for the values of secret headers. */
export function secretHeadersContext({ workspaceId, environment, webhookId }: WebhookRef): SealContext {
  return { purpose: 'webhook headers', workspaceId, environment, id: webhookId };
}

/** Returns the context for a response stored for an Idempotency-Key. */
export function responseContext({ workspaceId, environment, key }: Tenant & { readonly key: string }): SealContext {
  return { purpose: 'idempotent response', workspaceId, environment, id: key };
}
