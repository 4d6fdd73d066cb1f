import { may, mayChangeRole, type Permission, type Role as RoleName, roles } from '@rms/base/roles';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import { codeOf, type HttpBrowser } from './browser.ts';
import { namesOfNothing } from './named.ts';
import { isTenant, known, sendCall, type World } from './world.ts';

const messages: Readonly<Record<RoleName, Role>> = {
  viewer: Role.VIEWER,
  developer: Role.DEVELOPER,
  admin: Role.ADMIN,
  owner: Role.OWNER,
};

/** Tests that the dashboard server enforces the permissions of @rms/base/roles, with the real services behind it. */
export function rolesSuite(world: World): void {
  const browsers = new Map<RoleName, HttpBrowser>();
  const nothing = perSuite(() => namesOfNothing(world.named));
  beforeAll(async () => {
    for (const role of roles) browsers.set(role, await world.signIn(await world.member(messages[role])));
  });
  const as = (role: RoleName) => browsers.get(role) as HttpBrowser;

  const tenants = known.filter(([, endpoint]) => isTenant(endpoint));

  test.each(tenants)('%s: each role is limited to its permissions', async (name, endpoint, { calls }) => {
    const { workspaceId } = world;
    // Checked by auth: any member may leave, and the owner's key scope is admin.
    const byAuth: Record<string, Permission> = {
      'DELETE /members/{id}': 'members:write',
      'POST /api_keys/{id}/roll': 'keys:admin',
    };
    const permission = byAuth[name] ?? endpoint.access;
    const allowed = roles.filter((role) => may(role, permission as never));
    const before = await world.stateOfOwner();
    for (const role of roles.filter((role) => !allowed.includes(role))) {
      for (const call of calls) {
        const response = await sendCall(as(role), endpoint, call(world.named), { workspaceId });
        expect([role, response.status, codeOf(response)]).toEqual([role, 403, 'insufficient_role']);
        expect(world.markers.filter((marker) => response.text.includes(marker))).toEqual([]);
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
    for (const role of allowed) {
      for (const call of calls) {
        // In the sandbox, with ids that match no object, so that no data is lost.
        const response = await sendCall(as(role), endpoint, call(nothing), { workspaceId, environment: 'sandbox' });
        expect([role, codeOf(response)]).not.toEqual([role, 'insufficient_role']);
        expect([200, 201, 204, 400, 404]).toContain(response.status);
      }
    }
  });

  test('members can only grant or revoke roles up to their own', async () => {
    const path = `/api/workspaces/${world.workspaceId}/live`;
    for (const actor of roles) {
      for (const from of roles) {
        const member = await world.member(messages[from]);
        for (const to of roles) {
          const body = { role: to };
          const response = await as(actor).send('PATCH', `${path}/members/${member.id}`, { body });
          const allowed = mayChangeRole(actor, from, to);
          expect([actor, from, to, response.status]).toEqual([actor, from, to, allowed ? 200 : 403]);
          if (allowed && from !== to) {
            await world.rpc.members.updateMember({
              workspaceId: world.workspaceId,
              userId: member.id,
              role: messages[from],
            });
          }
        }
        const removed = await as(actor).send('DELETE', `${path}/members/${member.id}`);
        expect([actor, from, removed.status]).toEqual([actor, from, mayChangeRole(actor, from, undefined) ? 204 : 403]);
      }
      for (const to of roles) {
        const body = { email: `guest-of-${actor}-${to}@example.com`, role: to };
        const invited = await as(actor).send('POST', `${path}/invitations`, { body });
        expect([actor, to, invited.status]).toEqual([actor, to, mayChangeRole(actor, undefined, to) ? 201 : 403]);
      }
    }
  });

  test('a revoked role or membership applies from the next request', async () => {
    const path = `/api/workspaces/${world.workspaceId}/sandbox/api_keys`;
    const member = await world.member(Role.DEVELOPER);
    const browser = await world.signIn(member);
    const of = { workspaceId: world.workspaceId, userId: member.id };
    expect((await browser.send('GET', path)).status).toBe(200);
    await world.rpc.members.updateMember({ ...of, role: Role.VIEWER });
    expect((await browser.send('GET', path)).status).toBe(403);
    await world.rpc.members.removeMember(of);
    expect((await browser.send('GET', path)).status).toBe(404);
    expect((await browser.send('GET', '/api/account')).status).toBe(200);
  });

  test('every member can leave, without affecting other members', async () => {
    const member = await world.member(Role.VIEWER);
    const browser = await world.signIn(member);
    const { workspaceId } = world;
    const path = `/api/workspaces/${workspaceId}/live/members`;
    const others = (await world.rpc.members.listMembers({ workspaceId })).members.filter(
      ({ userId }) => userId !== member.id,
    );
    expect((await browser.send('DELETE', `${path}/${member.id}`)).status).toBe(204);
    expect((await browser.send('GET', path)).status).toBe(404);
    expect((await world.rpc.members.listMembers({ workspaceId })).members).toEqual(others);
  });
}
