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
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SecretsService as AuthSecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService as AuthDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { WorkspaceDeletionService as ResourcesDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { LookupService as WebhooksLookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { WorkspaceDeletionService as WebhooksDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import { createClient } from '@rms/rpc';
import type { Network } from '@rms/testkit';

export type Rpc = ReturnType<typeof connectAll>;

/** Creates clients of all gRPC services of a running network, with the addresses that its services use. */
export function connectAll({ env }: Network) {
  const timeoutMs = 20_000;
  const auth = { target: env.AUTH_ADDRESS ?? '', timeoutMs };
  const webhooks = { target: env.WEBHOOKS_ADDRESS ?? '', timeoutMs };
  const alerts = { target: env.ALERTS_ADDRESS ?? '', timeoutMs };
  const resources = { target: env.RESOURCES_ADDRESS ?? '', timeoutMs };
  const clients = {
    alerts: createClient(AlertsService, alerts),
    alertsDeletion: createClient(AlertsDeletionService, alerts),
    alertsSecrets: createClient(AlertsSecretsService, alerts),
    usage: createClient(UsageService, alerts),
    audit: createClient(AuditService, auth),
    authDeletion: createClient(AuthDeletionService, auth),
    authSecrets: createClient(AuthSecretsService, auth),
    invitations: createClient(InvitationsService, auth),
    emailRequests: createClient(EmailRequestsService, auth),
    lookup: createClient(LookupService, auth),
    members: createClient(MembersService, auth),
    passwords: createClient(PasswordsService, auth),
    secondFactors: createClient(SecondFactorsService, auth),
    signIn: createClient(SignInService, auth),
    users: createClient(UsersService, auth),
    keyUses: createClient(KeyUsesService, auth),
    keys: createClient(KeysService, auth),
    plans: createClient(PlansService, auth),
    requests: createClient(RequestsService, auth),
    workspaces: createClient(WorkspacesService, auth),
    resources: createClient(ResourcesService, resources),
    resourcesDeletion: createClient(ResourcesDeletionService, resources),
    deadLetters: createClient(DeadLettersService, webhooks),
    deliveries: createClient(DeliveriesService, webhooks),
    events: createClient(EventsService, webhooks),
    webhooksLookup: createClient(WebhooksLookupService, webhooks),
    secrets: createClient(SecretsService, webhooks),
    webhooks: createClient(WebhooksService, webhooks),
    webhooksDeletion: createClient(WebhooksDeletionService, webhooks),
  };
  return {
    ...clients,
    close() {
      for (const client of Object.values(clients)) client.close();
    },
  };
}
