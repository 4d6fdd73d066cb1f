export { readWebhooksConfig, type WebhooksConfig } from './config.ts';
export { createWebhooksContext, type WebhooksContext } from './context.ts';
export { createKeyCheck } from './secrets/key-check.ts';
export { createWebhooks } from './service.ts';
