import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService as AlertsSecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { WorkspaceDeletionService as AlertsDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SecretsService as AuthSecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService as AuthDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { WorkspaceDeletionService as ResourcesDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { LookupService as WebhooksLookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { WorkspaceDeletionService as WebhooksDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import { createClient, type RpcClient } from '@rms/rpc';
import type { Network } from '@rms/testkit';

/** Every service, by the name of its client. */
export const services = {
  alerts: AlertsService,
  alertsDeletion: AlertsDeletionService,
  alertsSecrets: AlertsSecretsService,
  usage: UsageService,
  audit: AuditService,
  authDeletion: AuthDeletionService,
  authSecrets: AuthSecretsService,
  invitations: InvitationsService,
  emailRequests: EmailRequestsService,
  lookup: LookupService,
  operationalEvents: OperationalEventsService,
  members: MembersService,
  passwords: PasswordsService,
  portalSessions: PortalSessionsService,
  secondFactors: SecondFactorsService,
  signIn: SignInService,
  users: UsersService,
  keyUses: KeyUsesService,
  keys: KeysService,
  plans: PlansService,
  requests: RequestsService,
  workspaces: WorkspacesService,
  resources: ResourcesService,
  resourcesDeletion: ResourcesDeletionService,
  deadLetters: DeadLettersService,
  deliveries: DeliveriesService,
  events: EventsService,
  webhooksLookup: WebhooksLookupService,
  secrets: SecretsService,
  webhooks: WebhooksService,
  webhooksDeletion: WebhooksDeletionService,
};

export type Services = typeof services;

export type Rpc = { readonly [Name in keyof Services]: RpcClient<Services[Name]> } & { close(): void };

/** Creates clients of all gRPC services of a running network, with the addresses that its services use. */
export function connectAll({ env }: Network): Rpc {
  const clients = Object.entries(services).map(([name, service]) => {
    // For example AUTH_ADDRESS for rms.auth.v1.KeysService.
    const owner = service === OperationalEventsService ? 'auth' : (service.typeName.split('.')[1] ?? '');
    const target = env[`${owner.toUpperCase()}_ADDRESS`] ?? '';
    return [name, createClient(service, { target, timeoutMs: 20_000 })] as const;
  });
  return {
    ...(Object.fromEntries(clients) as unknown as Rpc),
    close() {
      for (const [, client] of clients) client.close();
    },
  };
}
