export { alertChannelEndpoints } from './alert-channel/endpoints.ts';
export type { AlertChannel, AlertChannelTest } from './alert-channel/schema.ts';
export { alertKindName } from './alert-rule/document.ts';
export { alertRuleEndpoints } from './alert-rule/endpoints.ts';
export type { AlertRule, AlertRuleTest } from './alert-rule/schema.ts';
export type { Attempt, AttemptSummary, TestAttempt } from './attempt/schema.ts';
export { auditEntryDocument } from './audit-entry/document.ts';
export { auditFilterOf, auditQuery } from './audit-entry/endpoints.ts';
export type { AuditEntry } from './audit-entry/schema.ts';
export { type Backend, createBackend } from './backend.ts';
export { deliveryDocument } from './delivery/document.ts';
export { deliveryEndpoints } from './delivery/endpoints.ts';
export type { Delivery, FullDelivery } from './delivery/schema.ts';
export { delayReasons, deliveryStatuses } from './delivery/status.ts';
export {
  type Admitted,
  type CallerLimits,
  type Endpoint,
  parameterOf,
  type ServedRequest,
  serveEndpoint,
} from './endpoint.ts';
export { endpoints } from './endpoints.ts';
export { eventDocument } from './event/document.ts';
export { eventEndpoints } from './event/endpoints.ts';
export { type Event, envelopeOf } from './event/schema.ts';
export { incidentEndpoints } from './incident/endpoints.ts';
export type { Incident } from './incident/schema.ts';
export { invitationEndpoints } from './invitation/endpoints.ts';
export type { CreatedInvitation, Invitation } from './invitation/schema.ts';
export { keyDocument } from './key/document.ts';
export { keyEndpoints } from './key/endpoints.ts';
export type { FullKey, Key, NewKey } from './key/schema.ts';
export { memberEndpoints } from './member/endpoints.ts';
export type { Member } from './member/schema.ts';
export { metricsEndpoints } from './metrics/endpoints.ts';
export type { DeliveryMetrics, RequestMetrics } from './metrics/schema.ts';
export { replayEndpoints } from './replay/endpoints.ts';
export type { Replay, ReplayEstimate } from './replay/schema.ts';
export { requestEndpoints } from './request/endpoints.ts';
export type { Request, Timeline } from './request/schema.ts';
export { resourceEndpoints } from './resource/endpoints.ts';
export type { FullResource, Resource } from './resource/schema.ts';
export { tags } from './tags.ts';
export { versionOfService } from './version.ts';
export { createWebhook, webhookEndpoints } from './webhook/endpoints.ts';
export {
  type FullWebhook,
  type HealthWindow,
  type NewWebhook,
  type RateLimitDocument,
  type RetryPolicyDocument,
  type RotatedSecret,
  type Webhook,
  type WebhookUrls,
  webhookUrl,
  webhookUrlShape,
} from './webhook/schema.ts';
export { webhookCertificateEndpoints } from './webhook-certificate/endpoints.ts';
export { limitsDocument } from './workspace/document.ts';
export { workspaceEndpoints } from './workspace/endpoints.ts';
export type { Workspace } from './workspace/schema.ts';
