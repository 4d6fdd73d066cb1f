import type { SealContext } from '@rms/base/secrets';

/** Returns the context that binds the content of a queued email to its tenant and ID. */
export function emailContext({ workspaceId, environment, id }: Omit<SealContext, 'purpose'>): SealContext {
  return { purpose: 'email', workspaceId, environment, id };
}
