import type { SealContext } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';

/** Returns the context that binds the content of a queued email to its tenant and ID. */
export function emailContext({ workspaceId, environment, id }: Omit<SealContext, 'purpose'>): SealContext {
  return { purpose: 'email', workspaceId, environment, id };
}

/** Returns the context of the secret of a channel. */
export function channelContext({ workspaceId, environment, id }: Omit<SealContext, 'purpose'>): SealContext {
  return { purpose: 'alert channel', workspaceId, environment, id };
}

/** Returns the context of a response stored for an Idempotency-Key. */
export function responseContext({ workspaceId, environment, key }: Tenant & { readonly key: string }): SealContext {
  return { purpose: 'idempotent response', workspaceId, environment, id: key };
}
