import { createResource } from './create-resource.ts';
import { createWebhook } from './create-webhook.ts';
import { deleteResource } from './delete-resource.ts';
import { deleteWebhook } from './delete-webhook.ts';
import type { Endpoint } from './endpoint.ts';
import { getResource } from './get-resource.ts';
import { getWebhook } from './get-webhook.ts';
import { listEvents } from './list-events.ts';
import { listResources } from './list-resources.ts';
import { listWebhooks } from './list-webhooks.ts';
import { updateResource } from './update-resource.ts';
import { updateWebhook } from './update-webhook.ts';

/** The whole API. */
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
  listEvents,
];
