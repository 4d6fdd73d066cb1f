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
import { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { operatorMethods } from '@rms/rpc';
import { callEachMethod, callerKinds } from '@rms/testkit';
import { callers } from '../src/callers.ts';
import { startAuth } from './support.ts';

const services = [
  AuditService,
  EmailRequestsService,
  InvitationsService,
  KeyUsesService,
  KeysService,
  LookupService,
  MembersService,
  PasswordsService,
  PlansService,
  RequestsService,
  SecondFactorsService,
  SecretsService,
  SignInService,
  UsersService,
  WorkspaceDeletionService,
  WorkspacesService,
];

/** Methods that only `rms` may call, and only for an operator. */
const forOperators: readonly string[] = [
  'rms.auth.v1.KeysService/BatchFindKeys',
  'rms.auth.v1.KeysService/BatchRevokeKeys',
  'rms.auth.v1.LookupService/FindWorkspaces',
  'rms.auth.v1.PlansService/ListPlans',
  'rms.auth.v1.PlansService/SetPlan',
  'rms.auth.v1.SecretsService/ReencryptSecrets',
  'rms.auth.v1.UsersService/BootstrapUser',
  'rms.auth.v1.UsersService/CreateUser',
  'rms.auth.v1.UsersService/GetUser',
  'rms.auth.v1.UsersService/ListUsers',
  'rms.auth.v1.UsersService/ResetUser',
  'rms.auth.v1.UsersService/SetUserDisabled',
  'rms.auth.v1.WorkspaceDeletionService/BeginDeletion',
  'rms.auth.v1.WorkspaceDeletionService/CompleteDeletion',
  'rms.auth.v1.WorkspaceDeletionService/CountContents',
  'rms.auth.v1.WorkspaceDeletionService/DeleteContents',
  'rms.auth.v1.WorkspacesService/BootstrapWorkspace',
  'rms.auth.v1.WorkspacesService/SetWorkspacePlan',
];

describe('methods for operators', () => {
  let service: Awaited<ReturnType<typeof startAuth>>;
  beforeAll(async () => {
    service = await startAuth();
  });
  afterAll(() => service?.stop());

  test('are the methods that the table of callers grants to no service', () => {
    expect([...operatorMethods(callers, services)].sort()).toEqual(forOperators);
  });

  test.each(['user', 'key'] as const)('reject a %s', async (kind) => {
    const results = await callEachMethod(service.address, services, callerKinds[kind]);
    const refused = Object.keys(results).filter((method) => results[method] === 'insufficient_role');
    expect(refused).toEqual(expect.arrayContaining(forOperators));
    const others = Object.keys(results).filter((method) => !forOperators.includes(method));
    expect(others).toHaveLength(services.flatMap(({ methods }) => methods).length - forOperators.length);
  });

  test.each(['operator', 'service'] as const)('accept an %s', async (kind) => {
    const results = await callEachMethod(service.address, services, callerKinds[kind]);
    for (const method of forOperators) expect(results[method]).not.toBe('insufficient_role');
  });
});
