import type { DescService } from '@bufbuild/protobuf';
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
import { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';

/** All gRPC services of auth. */
export const authServices: readonly DescService[] = [
  AuditService,
  EmailRequestsService,
  InvitationsService,
  KeyUsesService,
  KeysService,
  LookupService,
  MembersService,
  PasswordsService,
  PlansService,
  PortalSessionsService,
  RequestsService,
  SecondFactorsService,
  SecretsService,
  SignInService,
  UsersService,
  WorkspaceDeletionService,
  WorkspacesService,
];
