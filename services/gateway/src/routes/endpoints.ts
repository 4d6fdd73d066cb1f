import { listAuditLog } from './audit/list-audit-log.ts';
import { cancelDelivery } from './deliveries/cancel-delivery.ts';
import { getDelivery } from './deliveries/get-delivery.ts';
import { listDeliveries } from './deliveries/list-deliveries.ts';
import { redeliverDelivery } from './deliveries/redeliver-delivery.ts';
import { getEvent } from './events/get-event.ts';
import { listEvents } from './events/list-events.ts';
import { createKey } from './keys/create-key.ts';
import { getKey } from './keys/get-key.ts';
import { listKeys } from './keys/list-keys.ts';
import { revokeKey } from './keys/revoke-key.ts';
import { rollKey } from './keys/roll-key.ts';
import { updateKey } from './keys/update-key.ts';
import { cancelReplay } from './replays/cancel-replay.ts';
import { createReplay } from './replays/create-replay.ts';
import { getReplay } from './replays/get-replay.ts';
import { listReplays } from './replays/list-replays.ts';
import { getRequest } from './requests/get-request.ts';
import { listRequests } from './requests/list-requests.ts';
import { createResource } from './resources/create-resource.ts';
import { deleteResource } from './resources/delete-resource.ts';
import { getResource } from './resources/get-resource.ts';
import { listResources } from './resources/list-resources.ts';
import { updateResource } from './resources/update-resource.ts';
import type { Endpoint } from './shared/endpoint.ts';
import { createWebhook } from './webhooks/create-webhook.ts';
import { deleteWebhook } from './webhooks/delete-webhook.ts';
import { getWebhook } from './webhooks/get-webhook.ts';
import { listWebhooks } from './webhooks/list-webhooks.ts';
import { rotateSecret } from './webhooks/rotate-secret.ts';
import { testWebhook } from './webhooks/test-webhook.ts';
import { updateWebhook } from './webhooks/update-webhook.ts';
import { getWorkspace } from './workspace/get-workspace.ts';

/** All endpoints of the API. */
export const endpoints: readonly Endpoint[] = [
  createResource,
  getResource,
  listResources,
  updateResource,
  deleteResource,
  createWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
  deleteWebhook,
  rotateSecret,
  testWebhook,
  listEvents,
  getEvent,
  listDeliveries,
  getDelivery,
  redeliverDelivery,
  cancelDelivery,
  createReplay,
  listReplays,
  getReplay,
  cancelReplay,
  listRequests,
  getRequest,
  createKey,
  getKey,
  listKeys,
  updateKey,
  rollKey,
  revokeKey,
  getWorkspace,
  listAuditLog,
];
