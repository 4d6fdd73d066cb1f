import { createHash } from 'node:crypto';
import { ChannelType } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, waitUntil } from '@rms/testkit';
import type { Caller } from './entry.ts';
import type { Rpc } from './rpc.ts';

/** The owner's objects that a stranger may know of: ids, page tokens, idempotency keys. */
export type Owned = Awaited<ReturnType<typeof makeOwned>>;

export const idempotencyKey = 'order of the owner';
export const ownersName = 'Private';

/** Returns the request context that the gateway sends for a caller. */
export function contextOf({ workspaceId, environment }: Caller) {
  return { principal: { workspaceId, environment, keyId: '', scope: Scope.ADMIN }, requestId: `req_${workspaceId}` };
}

/** Creates objects of every kind in the live environment of a workspace, with a second page in each list. */
export async function makeOwned(rpc: Rpc, workspaceId: string, receiver: Receiver) {
  const owner = { workspaceId, environment: Environment.LIVE };
  const context = contextOf(owner);

  const key = await rpc.keys.createKey({ ...owner, scope: Scope.ADMIN, name: ownersName, idempotencyKey });
  await rpc.keys.createKey({ ...owner, scope: Scope.READ, name: 'Second' });
  const keyHash = createHash('sha256').update(key.keyValue).digest();
  const keyId = key.key?.id ?? '';
  await rpc.keyUses.batchReportKeyUses({
    uses: [{ ...owner, keyId, address: '192.0.2.1', userAgent: 'owner', requests: 3n }],
  });

  const userEmail = 'owner@example.com';
  const invitedEmail = 'invited@example.com';
  const { user } = await rpc.users.createUser({ email: userEmail, workspaceId, role: Role.OWNER });
  const { invitation } = await rpc.invitations.createInvitation({ workspaceId, email: invitedEmail, role: Role.ADMIN });
  const [userId, invitationId] = [user?.id ?? '', invitation?.id ?? ''];

  const url = `${receiver.url}/owner`;
  const hook = { ...owner, url, events: ['*'] };
  const webhooks = [
    await rpc.webhooks.createWebhook({ ...hook, idempotencyKey }),
    await rpc.webhooks.createWebhook({ ...hook, url: `${receiver.url}/fails` }),
  ];
  const [webhookId = '', failingId = ''] = webhooks.map(({ webhook }) => webhook?.id ?? '');
  await rpc.webhooks.updateWebhook({ ...owner, id: failingId, retryPolicy: { maxRetries: 0 } });

  const request = { context, name: ownersName, idempotencyKey };
  const created = await rpc.resources.batchCreateResources({
    requests: [request, { ...request, idempotencyKey: '' }, { ...request, idempotencyKey: '' }],
  });
  const resourceIds = created.results.map(({ result }) => (result.case === 'resource' ? result.value.id : ''));
  const listed = async (status: DeliveryStatus) =>
    (await rpc.deliveries.listDeliveries({ ...owner, status, pageSize: 100 })).deliveries;
  await waitUntil(
    async () =>
      (await listed(DeliveryStatus.DELIVERED)).length === 3 && (await listed(DeliveryStatus.FAILED)).length === 3,
    { what: 'the deliveries of the owner' },
  );
  const [delivered] = await listed(DeliveryStatus.DELIVERED);
  const deliveries = [...(await listed(DeliveryStatus.DELIVERED)), ...(await listed(DeliveryStatus.FAILED))];

  const { replay } = await rpc.deliveries.replayDeliveries({
    ...owner,
    webhookId,
    since: { seconds: 0n },
    statuses: [DeliveryStatus.SKIPPED],
  });

  const incident = await waitUntil(
    async () => (await rpc.alerts.listIncidents({ ...owner, pageSize: 1 })).incidents[0],
    { what: 'the incident of the owner' },
  );

  const { channel } = await rpc.alerts.createChannel({
    ...{ ...owner, type: ChannelType.PAGERDUTY, name: ownersName, routingKey: 'key-of-the-owner', idempotencyKey },
  });
  const channelId = channel?.id ?? '';

  const failed = { ...owner, requests: 1n, serverErrors: 1n, latencies: Array(20).fill(0n) };
  await rpc.usage.reportUsage({ reporterId: 'owner', sequence: 1n, requests: [failed] });

  const { newestPosition } = await rpc.events.listEvents({ ...owner, pageSize: 1 });
  const pageTokens = {
    resources: (await rpc.resources.listResources({ context, pageSize: 1 })).nextPageToken,
    webhooks: (await rpc.webhooks.listWebhooks({ ...owner, pageSize: 1 })).nextPageToken,
    deliveries: (await rpc.deliveries.listDeliveries({ ...owner, pageSize: 1 })).nextPageToken,
    keys: (await rpc.keys.listKeys({ ...owner, pageSize: 1 })).nextPageToken,
    audit: (await rpc.audit.listAuditEntries({ workspaceId, pageSize: 1 })).nextPageToken,
  };
  return {
    owner,
    keyId,
    keyHash,
    userId,
    userEmail,
    invitationId,
    webhookId,
    failingId,
    url,
    resourceId: resourceIds[0] ?? '',
    deliveryId: delivered?.id ?? '',
    replayId: replay?.id ?? '',
    incidentId: incident.id,
    channelId,
    eventId: delivered?.eventId ?? '',
    requestId: context.requestId,
    pageTokens,
    newestPosition,
    /** Strings that must not appear in any response to other callers. */
    markers: [
      ...resourceIds,
      ...[keyId, key.keyValue, key.key?.hint ?? '', webhookId, failingId],
      ...[userId, userEmail, invitationId, invitedEmail, incident.id, channelId],
      ...webhooks.map(({ secret }) => secret),
      ...deliveries.flatMap(({ id, eventId }) => [id, eventId]),
    ],
  };
}

/** Returns all data that a caller can read in its workspace and environment. */
export async function responsesTo(rpc: Rpc, caller: Caller) {
  const { workspaceId } = caller;
  return {
    // A refused request of a key is recorded after its response.
    keys: (await rpc.keys.listKeys(caller)).keys.map(({ lastRefusal: _, ...key }) => key),
    members: await rpc.members.listMembers({ workspaceId }),
    invitations: await rpc.invitations.listInvitations({ workspaceId }),
    resources: await rpc.resources.listResources({ context: contextOf(caller), pageSize: 100 }),
    webhooks: await rpc.webhooks.listWebhooks({ ...caller, pageSize: 100 }),
    deliveries: await rpc.deliveries.listDeliveries({ ...caller, pageSize: 1_000 }),
    entries: (await rpc.audit.listAuditEntries({ workspaceId, pageSize: 1_000 })).entries.filter(
      ({ environment }) => environment === caller.environment,
    ),
  };
}
