import { linkEndpoint } from './link-endpoint.ts';

/** Returns a confirmation link's subject. Changes nothing, because email scanners follow links. */
export const findRecipient = linkEndpoint(
  '/api/alert-recipient/find',
  async ({ backend, body: { token }, context }) => {
    const { address, workspaceName, confirmed } = await backend.alerts.describeRecipient({ token }, { context });
    return { address, workspace_name: workspaceName, confirmed };
  },
);

/** Confirms that the link's address receives alerts of its workspace. */
export const confirmRecipient = linkEndpoint('/api/alert-recipient', async ({ backend, body: { token }, context }) => {
  await backend.alerts.confirmRecipient({ token }, { context });
  return undefined;
});
