import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { type AuditedCases, auditedChain, auditedSecrets, disposable, perSuite, testAuditedCases } from '@rms/testkit';
import { auditScene } from './audit-scene.ts';
import { userCases } from './audited-user-cases.ts';
import { workspaceCases } from './audited-workspace-cases.ts';
import { authServices } from './auth-services.ts';
import { startAccounts } from './user-support.ts';

/** Workspaces are deleted in batches; delete-workspace.test.ts tests the entry. */
const services = authServices.filter((service) => service !== WorkspaceDeletionService);

describe('Entries of the audit log of auth', () => {
  const scene = auditScene(() => accounts);
  const accounts = perSuite(startAccounts);

  const cases: AuditedCases = {
    ...workspaceCases(scene),
    ...userCases(scene),
    'SecretsService/reencryptSecrets': async (requestId) => {
      const context = { actor: 'operator:alice@laptop', requestId };
      await accounts.secrets.reencryptSecrets({}, { context });
      // A later batch appends no further entry.
      await accounts.secrets.reencryptSecrets({ pageToken: '1/' }, { context });
      return [['secrets.reencryption_started', 'auth', '', {}]];
    },
    ...Object.fromEntries(
      [
        ...AuditService.methods,
        ...EmailRequestsService.methods,
        ...KeyUsesService.methods,
        ...LookupService.methods,
        ...RequestsService.methods,
        KeysService.method.listKeys,
        KeysService.method.getKey,
        KeysService.method.batchFindKeys,
        KeysService.method.batchVerifyKeys,
        PlansService.method.listPlans,
        WorkspacesService.method.listWorkspaces,
        WorkspacesService.method.getWorkspace,
        MembersService.method.listMembers,
        MembersService.method.getMember,
        InvitationsService.method.getInvitation,
        InvitationsService.method.listInvitations,
        InvitationsService.method.findInvitation,
        UsersService.method.listUsers,
        UsersService.method.getUser,
        SecondFactorsService.method.getSecondFactor,
        SignInService.method.checkSession,
        PortalSessionsService.method.checkPortalSession,
      ].map(({ parent, localName }) => [`${parent.name}/${localName}`, undefined]),
    ),
  };

  testAuditedCases(services, cases, () => accounts.db);

  test('of a first start name the new objects', async () => {
    await using other = disposable(await startAccounts());
    const { keyValues } = await other.workspaces.bootstrapWorkspace({ name: 'Mine' });
    const { password } = await other.users.bootstrapUser({ email: 'owner@localhost' });
    const { rows } = await other.db.query('select action, target_name, changes from audit.entries order by id');
    expect(rows.map(({ action, target_name }) => [action, target_name])).toEqual([
      ['workspace.created', 'Mine'],
      ['key.created', 'first key'],
      ['key.created', 'first key'],
      ['user.created', 'owner@localhost'],
      ['member.added', 'owner@localhost'],
    ]);
    for (const value of [...keyValues.map((key) => key.slice(12)), password]) {
      expect(JSON.stringify(rows)).not.toContain(value);
    }
  });

  test('of concurrent updates form a chain: each begins with the values with which the previous one ended', async () => {
    const workspaceId = await accounts.newWorkspace();
    const id = await scene.newKey(workspaceId, { name: 'n0' });
    const plans = Array.from({ length: 8 }, (_, i) => `chain-${i}`);
    for (const name of plans) await accounts.plans.setPlan({ plan: { name } });
    await Promise.all(
      plans.flatMap((plan, i) => [
        accounts.keys.updateKey({ workspaceId, id, name: `n${i + 1}` }),
        accounts.workspaces.setWorkspacePlan({ workspaceId, plan }),
        accounts.plans.setPlan({ plan: { name: 'chained', monthlyQuota: BigInt(i + 1) } }),
      ]),
    );
    const { key } = await accounts.keys.getKey({ workspaceId, id });
    const { workspace } = await accounts.workspaces.getWorkspace({ workspaceId });
    const names = await auditedChain(accounts.db, id, 'name');
    expect([names.length, names.at(-1)]).toEqual([10, key?.name]);
    const used = await auditedChain(accounts.db, workspaceId, 'plan');
    expect([used.length, used.at(-1)]).toEqual([9, workspace?.plan]);
    expect(await auditedChain(accounts.db, 'chained', 'monthly_quota')).toHaveLength(9);
  });

  test('contain no password, key, token, code or hash', async () => {
    const hashes = await accounts.db.query<{ hash: string }>(
      `select password_hash as hash from auth.users where password_hash is not null
       union all select encode(hash, 'hex') from auth.keys
       union all select encode(token_hash, 'hex') from auth.invitations
       union all select encode(token_hash, 'hex') from auth.portal_sessions`,
    );
    const all = [...scene.secrets, ...hashes.rows.map(({ hash }) => hash)];
    expect(all.length).toBeGreaterThan(100);
    expect(await auditedSecrets(accounts.db, all)).toEqual([]);
  });
});
