export { type Backend, createBackend } from './backend.ts';
export type { Admitted, Endpoint, RequiredScope, Requirement } from './endpoint.ts';
export { endpoints } from './endpoints.ts';
export { envelopeOf } from './event/schema.ts';
export { type ServedRequest, serveEndpoint } from './serve-endpoint.ts';
export { tags } from './tags.ts';
export { createWebhook } from './webhook/endpoints.ts';
export { type WebhookUrls, webhookUrl, webhookUrlShape } from './webhook/schema.ts';
