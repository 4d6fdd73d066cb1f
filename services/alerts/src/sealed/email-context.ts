import type { SealContext } from '@rms/base/secrets';

/** Returns the context that binds a queued email's content to its tenant and ID. */
export function emailContext({ workspaceId, environment, id }: Omit<SealContext, 'purpose'>): SealContext {
  return { purpose: 'email', workspaceId, environment, id };
}
