import type { RpcClient } from '@rms/rpc/client';

/** gRPC services that commands call, with their processes. A definition is loaded when a command needs it. */
export const definitions = {
  workspaces: {
    at: 'auth',
    load: async () => (await import('@rms/proto/rms/auth/v1/workspaces_service_pb')).WorkspacesService,
  },
  keys: { at: 'auth', load: async () => (await import('@rms/proto/rms/auth/v1/keys_service_pb')).KeysService },
  plans: { at: 'auth', load: async () => (await import('@rms/proto/rms/auth/v1/plans_service_pb')).PlansService },
  audit: { at: 'auth', load: async () => (await import('@rms/proto/rms/auth/v1/audit_service_pb')).AuditService },
  users: { at: 'auth', load: async () => (await import('@rms/proto/rms/auth/v1/users_service_pb')).UsersService },
  members: {
    at: 'auth',
    load: async () => (await import('@rms/proto/rms/auth/v1/members_service_pb')).MembersService,
  },
  authSecrets: {
    at: 'auth',
    load: async () => (await import('@rms/proto/rms/auth/v1/secrets_service_pb')).SecretsService,
  },
  authDeletion: {
    at: 'auth',
    load: async () => (await import('@rms/proto/rms/auth/v1/workspace_deletion_service_pb')).WorkspaceDeletionService,
  },
  lookup: { at: 'auth', load: async () => (await import('@rms/proto/rms/auth/v1/lookup_service_pb')).LookupService },
  requests: {
    at: 'auth',
    load: async () => (await import('@rms/proto/rms/auth/v1/requests_service_pb')).RequestsService,
  },
  resourcesDeletion: {
    at: 'resources',
    load: async () =>
      (await import('@rms/proto/rms/resources/v1/workspace_deletion_service_pb')).WorkspaceDeletionService,
  },
  events: {
    at: 'webhooks',
    load: async () => (await import('@rms/proto/rms/webhooks/v1/events_service_pb')).EventsService,
  },
  webhooks: {
    at: 'webhooks',
    load: async () => (await import('@rms/proto/rms/webhooks/v1/webhooks_service_pb')).WebhooksService,
  },
  deliveries: {
    at: 'webhooks',
    load: async () => (await import('@rms/proto/rms/webhooks/v1/deliveries_service_pb')).DeliveriesService,
  },
  deadLetters: {
    at: 'webhooks',
    load: async () => (await import('@rms/proto/rms/webhooks/v1/dead_letters_service_pb')).DeadLettersService,
  },
  webhooksLookup: {
    at: 'webhooks',
    load: async () => (await import('@rms/proto/rms/webhooks/v1/lookup_service_pb')).LookupService,
  },
  webhooksSecrets: {
    at: 'webhooks',
    load: async () => (await import('@rms/proto/rms/webhooks/v1/secrets_service_pb')).SecretsService,
  },
  webhooksDeletion: {
    at: 'webhooks',
    load: async () =>
      (await import('@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb')).WorkspaceDeletionService,
  },
  alerts: {
    at: 'alerts',
    load: async () => (await import('@rms/proto/rms/alerts/v1/alerts_service_pb')).AlertsService,
  },
  alertsSecrets: {
    at: 'alerts',
    load: async () => (await import('@rms/proto/rms/alerts/v1/secrets_service_pb')).SecretsService,
  },
  alertsDeletion: {
    at: 'alerts',
    load: async () => (await import('@rms/proto/rms/alerts/v1/workspace_deletion_service_pb')).WorkspaceDeletionService,
  },
} as const;

type Definitions = typeof definitions;
export type ServiceName = keyof Definitions;

type Client<Name extends ServiceName> = RpcClient<Awaited<ReturnType<Definitions[Name]['load']>>>;

/** RPC clients. The clients of alerts are undefined if this installation has no alerts service. */
export type Services = {
  readonly [Name in ServiceName]: Definitions[Name]['at'] extends 'alerts' ? Client<Name> | undefined : Client<Name>;
};
