import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Callers } from '@rms/rpc';

const { createWebhook, getWebhook, listWebhooks, updateWebhook, deleteWebhook } = WebhooksService.method;

/** Gateways do what the REST API offers; secrets are rotated and deliveries replayed by people's tools. */
export const callers: Callers = {
  gateway: [createWebhook, getWebhook, listWebhooks, updateWebhook, deleteWebhook, EventsService.method.listEvents],
  dashboard: 'all',
  rms: 'all',
};
