import { testOperatorMethods } from '@rms/testkit';
import { callers } from '../src/callers.ts';
import { authServices } from './auth-services.ts';
import { startAuth } from './support.ts';

/** Methods that only `rms` may call, and only for an operator. */
const forOperators: readonly string[] = [
  'rms.auth.v1.KeysService/BatchFindKeys',
  'rms.auth.v1.KeysService/BatchRevokeKeys',
  'rms.auth.v1.LookupService/FindWorkspaces',
  'rms.auth.v1.PlansService/DeletePlan',
  'rms.auth.v1.PlansService/ListPlans',
  'rms.auth.v1.PlansService/SetPlan',
  'rms.auth.v1.SecretsService/ReencryptSecrets',
  'rms.auth.v1.UsersService/BootstrapUser',
  'rms.auth.v1.UsersService/CreateUser',
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

testOperatorMethods({ callers, services: authServices, forOperators, start: startAuth });
