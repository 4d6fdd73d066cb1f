import type { DescService } from '@bufbuild/protobuf';
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
import { alertsEntries, alertsSecretsEntries, usageEntries } from './alerts-entries.ts';
import {
  auditEntries,
  authLookupEntries,
  keysEntries,
  keyUsesEntries,
  plansEntries,
  requestsEntries,
  workspacesEntries,
} from './auth-entries.ts';
import {
  alertsDeletionEntries,
  authDeletionEntries,
  resourcesDeletionEntries,
  webhooksDeletionEntries,
} from './deletion-entries.ts';
import type { Entry } from './entry.ts';
import { resourcesEntries } from './resources-entries.ts';
import {
  authSecretsEntries,
  emailRequestsEntries,
  invitationsEntries,
  membersEntries,
  passwordsEntries,
  secondFactorsEntries,
  signInEntries,
  usersEntries,
} from './user-entries.ts';
import {
  deadLettersEntries,
  deliveriesEntries,
  eventsEntries,
  lookupEntries,
  secretsEntries,
  webhooksEntries,
} from './webhooks-entries.ts';

/** Every service, with the calls of each of its methods by strangers. */
export const tables: [DescService, Readonly<Record<string, Entry>>][] = [
  [AlertsDeletionService, alertsDeletionEntries],
  [AuthDeletionService, authDeletionEntries],
  [ResourcesDeletionService, resourcesDeletionEntries],
  [WebhooksDeletionService, webhooksDeletionEntries],
  [AlertsService, alertsEntries],
  [AlertsSecretsService, alertsSecretsEntries],
  [UsageService, usageEntries],
  [AuditService, auditEntries],
  [LookupService, authLookupEntries],
  [KeyUsesService, keyUsesEntries],
  [RequestsService, requestsEntries],
  [KeysService, keysEntries],
  [PlansService, plansEntries],
  [WorkspacesService, workspacesEntries],
  [UsersService, usersEntries],
  [MembersService, membersEntries],
  [InvitationsService, invitationsEntries],
  [SignInService, signInEntries],
  [PasswordsService, passwordsEntries],
  [SecondFactorsService, secondFactorsEntries],
  [EmailRequestsService, emailRequestsEntries],
  [AuthSecretsService, authSecretsEntries],
  [ResourcesService, resourcesEntries],
  [DeadLettersService, deadLettersEntries],
  [DeliveriesService, deliveriesEntries],
  [WebhooksLookupService, lookupEntries],
  [SecretsService, secretsEntries],
  [WebhooksService, webhooksEntries],
  [EventsService, eventsEntries],
];
