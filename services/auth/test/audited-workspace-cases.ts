import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import type { AuditedCases } from '@rms/testkit';
import type { AuditScene } from './audit-scene.ts';
import { newEmail } from './user-support.ts';

/** Makes a request twice. The second one changes nothing, so it has no entry. */
async function twice(request: () => Promise<unknown>): Promise<void> {
  await request();
  await request();
}

const time = expect.stringMatching(/^\d{4}-.*Z$/);
const secret = '[secret]';

/** Methods that change keys, plans, workspaces, members and invitations. */
export function workspaceCases({
  the,
  secrets,
  operator,
  by,
  anyone,
  newUser,
  newKey,
  invite,
  password,
}: AuditScene): AuditedCases {
  const portalLink = async (requestId = '') => {
    const workspaceId = await the().newWorkspace();
    const keyId = await newKey(workspaceId, { scope: Scope.ADMIN });
    const principal = { workspaceId, environment: Environment.LIVE, keyId };
    const { linkToken } = await the().portalSessions.createPortalSession(
      { ...principal, lifetime: durationFromMs(1_000), returnUrl: 'https://example.com' },
      { context: { principal, actorName: 'ci', requestId } },
    );
    secrets.add(linkToken);
    return linkToken;
  };
  return {
    'KeysService/createKey': async (requestId) => {
      const owner = await newUser();
      const more = { allowedIps: ['10.0.0.0/8'], rateLimitRequests: 5n };
      await newKey(owner.workspaceId, more, by(owner, requestId));
      const changes = { name: [null, 'ci'], scope: [null, 'write'], allowed_ips: [null, ['10.0.0.0/8']] } as const;
      return [['key.created', 'ci', owner.email, { ...changes, rate_limit_requests: [null, 5] }]];
    },
    'KeysService/updateKey': async (requestId) => {
      const workspaceId = await the().newWorkspace();
      const id = await newKey(workspaceId, { rateLimitRequests: 5n });
      const changed = { name: 'deploy', allowedIps: { cidrs: ['10.0.0.0/8'] }, rateLimit: {} };
      await twice(() => the().keys.updateKey({ workspaceId, id, ...changed }, operator(requestId)));
      const changes = { name: ['ci', 'deploy'], allowed_ips: [null, ['10.0.0.0/8']] } as const;
      return [['key.updated', 'deploy', '', { ...changes, rate_limit_requests: [5, null] }]];
    },
    'KeysService/rollKey': async (requestId) => {
      const workspaceId = await the().newWorkspace();
      const id = await newKey(workspaceId);
      const rolled = await the().keys.rollKey(
        { workspaceId, id, overlap: durationFromMs(60_000) },
        operator(requestId),
      );
      secrets.add(rolled.keyValue.slice(12));
      return [
        ['key.rolled', 'ci', '', { rolled_at: [null, time], replaced_by_id: [null, rolled.key?.id] }],
        ['key.created', 'ci', '', { name: [null, 'ci'], scope: [null, 'write'] }],
      ];
    },
    'KeysService/revokeKey': async (requestId) => {
      const workspaceId = await the().newWorkspace();
      const principal = { workspaceId, environment: Environment.LIVE, keyId: 'key_1', scope: Scope.ADMIN };
      const context = { principal, actorName: 'admin key', requestId };
      const id = await newKey(workspaceId);
      await twice(() => the().keys.revokeKey({ workspaceId, id }, { context }));
      return [['key.revoked', 'ci', 'admin key', { revoked_at: [null, time] }]];
    },
    'KeysService/batchRevokeKeys': async (requestId) => {
      const workspaceId = await the().newWorkspace();
      const ids = [await newKey(workspaceId, { name: 'one' }), await newKey(workspaceId, { name: 'two' })];
      const requests = ids.map((id) => ({ workspaceId, id }));
      await twice(() => the().keys.batchRevokeKeys({ requests }, operator(requestId)));
      return ['one', 'two'].map((name) => ['key.revoked', name, '', { revoked_at: [null, time] }] as const);
    },
    'PlansService/setPlan': async (requestId) => {
      await the().plans.setPlan({ plan: { name: 'silver', monthlyQuota: 5n, maxKeys: 3n } });
      await twice(() => the().plans.setPlan({ plan: { name: 'silver', monthlyQuota: 6n } }, operator(requestId)));
      return [['plan.set', 'silver', '', { monthly_quota: [5, 6], max_keys: [3, null] }]];
    },
    'PlansService/deletePlan': async (requestId) => {
      await the().plans.setPlan({ plan: { name: 'bronze-2', monthlyQuota: 5n } });
      await the().plans.deletePlan({ name: 'bronze-2' }, operator(requestId));
      return [['plan.deleted', 'bronze-2', '', { monthly_quota: [5, null] }]];
    },
    'WorkspacesService/createWorkspace': async (requestId) => {
      const owner = await newUser();
      const created = { name: 'Acme', ownerUserId: owner.id };
      await the().workspaces.createWorkspace(created, operator(requestId));
      return [
        ['workspace.created', 'Acme', '', { name: [null, 'Acme'] }],
        ['member.added', owner.email, '', { role: [null, 'owner'] }],
      ];
    },
    'WorkspacesService/bootstrapWorkspace': undefined,
    'WorkspacesService/setWorkspacePlan': async (requestId) => {
      const workspaceId = await the().newWorkspace();
      for (const name of ['gold', 'bronze']) await the().plans.setPlan({ plan: { name } });
      await the().workspaces.setWorkspacePlan({ workspaceId, plan: 'gold' });
      await twice(() => the().workspaces.setWorkspacePlan({ workspaceId, plan: 'bronze' }, operator(requestId)));
      return [['workspace.plan_set', 'Test', '', { plan: ['gold', 'bronze'] }]];
    },
    'MembersService/updateMember': async (requestId) => {
      const owner = await newUser();
      const { workspaceId } = owner;
      const admin = await newUser({ workspaceId, role: Role.ADMIN });
      const email = newEmail();
      await invite(admin, email);
      const update = { workspaceId, userId: admin.id, role: Role.VIEWER };
      await twice(() => the().members.updateMember(update, by(owner, requestId)));
      const ended = { email: [email, null], role: ['viewer', null], expires_at: [time, null] } as const;
      return [
        ['member.updated', admin.email, owner.email, { role: ['admin', 'viewer'] }],
        ['invitation.revoked', email, owner.email, ended],
      ];
    },
    'MembersService/removeMember': async (requestId) => {
      const owner = await newUser();
      const { workspaceId } = owner;
      const other = await newUser({ workspaceId, role: Role.DEVELOPER });
      await the().members.removeMember({ workspaceId, userId: other.id }, by(owner, requestId));
      return [['member.removed', other.email, owner.email, { role: ['developer', null] }]];
    },
    'PortalSessionsService/createPortalSession': async (requestId) => {
      await portalLink(requestId);
      return [
        ['portal_session.created', '', 'ci', { ends_at: [null, time], return_url: [null, 'https://example.com'] }],
      ];
    },
    'PortalSessionsService/openPortalSession': async (requestId) => {
      const linkToken = await portalLink();
      const { token } = await the().portalSessions.openPortalSession({ linkToken }, anyone(requestId));
      secrets.add(token);
      return [['portal_session.opened', '', 'portal session of key ci', {}]];
    },
    'InvitationsService/createInvitation': async (requestId) => {
      const owner = await newUser();
      const email = newEmail();
      await invite(owner, email);
      await invite(owner, email, by(owner, requestId), Role.ADMIN);
      const changes = { role: ['viewer', 'admin'], expires_at: [time, time] } as const;
      return [['invitation.created', email, owner.email, changes]];
    },
    'InvitationsService/revokeInvitation': async (requestId) => {
      const owner = await newUser();
      const email = newEmail();
      const { id } = await invite(owner, email);
      await the().invitations.revokeInvitation({ workspaceId: owner.workspaceId, id }, by(owner, requestId));
      const ended = { email: [email, null], role: ['viewer', null], expires_at: [time, null] } as const;
      return [['invitation.revoked', email, owner.email, ended]];
    },
    'InvitationsService/acceptInvitation': async (requestId) => {
      const owner = await newUser();
      const email = newEmail();
      const { token } = await invite(owner, email);
      const value = { name: 'New', password };
      await the().invitations.acceptInvitation({ token, as: { case: 'newUser', value } }, anyone(requestId));
      const ended = { email: [email, null], role: ['viewer', null], expires_at: [time, null] } as const;
      return [
        ['invitation.accepted', email, email, ended],
        [
          ...(['user.created', email, email] as const),
          { email: [null, email], name: [null, 'New'], password: [null, secret], has_second_factor: [null, false] },
        ],
        ['member.added', email, email, { role: [null, 'viewer'] }],
        ['user.signed_in', email, email, {}],
      ];
    },
  };
}
