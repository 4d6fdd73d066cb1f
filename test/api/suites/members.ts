import { randomUUID } from 'node:crypto';
import { perSuite } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

interface Member {
  id: string;
  email: string;
  role: string;
}

interface Invitation {
  id: string;
  email: string;
  role: string;
  token?: string;
}

const newEmail = () => `${randomUUID()}@example.com`;

export function membersSuite(target: () => Target): void {
  describe('Members and invitations', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    const newMember = async (role: string) => {
      const email = newEmail();
      await account.rms('users', 'create', '--email', email, '--role', role);
      const { data } = (await client.get<Page<Member>>('/v1/members?per_page=100')).body;
      return data.find((one) => one.email === email) as Member;
    };

    test('members are listed by address, changed and removed', async () => {
      const made = [await newMember('viewer'), await newMember('developer'), await newMember('admin')];
      const first = expectStatus(await client.get<Page<Member>>('/v1/members?per_page=2'), 200).body;
      const second = expectStatus(await client.get<Page<Member>>(first.links.next ?? ''), 200).body;
      expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(
        made.sort((a, b) => (a.email < b.email ? -1 : 1)).map(({ id }) => id),
      );
      expect([first.meta.total, second.links.next]).toEqual([3, null]);
      expect((await client.get<Page<Member>>(second.links.prev ?? '')).body.data).toEqual(first.data);
      const path = `/v1/members/${made[0]?.id}`;
      expect(expectStatus(await client.patch<One<Member>>(path, { role: 'admin' }), 200).body.data.role).toBe('admin');
      expect((await client.get<One<Member>>(path)).body.data).toEqual({ ...made[0], role: 'admin' });
      expectStatus(await client.delete(`${path}?revoke_keys=true`), 204);
      for (const method of ['GET', 'DELETE']) expectStatus(await client.send(method, path), 404);
      expectStatus(await client.patch(path, { role: 'viewer' }), 404);
    });

    test('If-Match on PATCH and DELETE of a member gets 412 after the role has changed', async () => {
      const path = `/v1/members/${(await newMember('viewer')).id}`;
      const etag = (await client.get(path)).headers.etag ?? '';
      expect((await client.get(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
      const changes = await Promise.all(
        ['developer', 'admin'].map((role) => client.patch(path, { role }, { headers: { 'if-match': etag } })),
      );
      expect(changes.map(({ status }) => status).sort()).toEqual([200, 412]);
      const outdated = await client.delete<ErrorBody>(path, { headers: { 'if-match': etag } });
      expect([outdated.status, outdated.body.error.code]).toEqual([412, 'precondition_failed']);
      const current = changes.find(({ status }) => status === 200)?.headers.etag ?? '';
      expectStatus(await client.delete(path, { headers: { 'if-match': current } }), 204);
    });

    test('If-Match on DELETE of an invitation gets 412 unless it is the one that was read', async () => {
      const email = newEmail();
      const made = await client.post<One<Invitation>>('/v1/invitations', { email, role: 'viewer' });
      const path = `/v1/invitations/${made.body.data.id}`;
      const { etag = '' } = (await client.get(path)).headers;
      const outdated = await client.delete<ErrorBody>(path, { headers: { 'if-match': '"1.x"' } });
      expect([outdated.status, outdated.body.error.code]).toEqual([412, 'precondition_failed']);
      expectStatus(await client.delete(path, { headers: { 'if-match': etag } }), 204);
    });

    test('a key cannot change owners or make owners', async () => {
      const owner = await newMember('owner');
      const viewer = await newMember('viewer');
      for (const response of [
        await client.patch<ErrorBody>(`/v1/members/${owner.id}`, { role: 'viewer' }),
        await client.delete<ErrorBody>(`/v1/members/${owner.id}`),
        await client.patch<ErrorBody>(`/v1/members/${viewer.id}`, { role: 'owner' }),
        await client.post<ErrorBody>('/v1/invitations', { email: newEmail(), role: 'owner' }),
      ]) {
        expect(expectStatus(response, 403).body.error.code).toBe('insufficient_scope');
      }
      expectStatus(await client.patch(`/v1/members/${viewer.id}`, { role: 'superuser' }), 400);
    });

    test('an invitation is created once per Idempotency-Key, listed and revoked', async () => {
      const body = { email: newEmail(), role: 'developer' };
      const idempotencyKey = randomUUID();
      const made = expectStatus(await client.post<One<Invitation>>('/v1/invitations', body, { idempotencyKey }), 201)
        .body.data;
      const again = await client.post<One<Invitation>>('/v1/invitations', body, { idempotencyKey });
      expect([again.status, again.body.data]).toEqual([201, made]);
      const { token: _, ...shown } = made;
      const path = `/v1/invitations/${made.id}`;
      expect((await client.get<One<Invitation>>(path)).body.data).toEqual(shown);
      expect((await client.get<Page<Invitation>>('/v1/invitations')).body.data).toEqual([shown]);
      // Another key does not see the token.
      const { key } = await account.newKey('live', 'admin');
      const other = account.clientWith('live', key);
      const seen = await other.post<One<Invitation>>('/v1/invitations', body, { idempotencyKey });
      expect(seen.body.data).toEqual(shown);
      expectStatus(await client.delete(path), 204);
      expectStatus(await client.get(path), 404);
      expectStatus(await client.post('/v1/invitations', { email: 'no address', role: 'viewer' }), 400);
    });

    test('members and invitations of another workspace do not exist', async () => {
      const outsider: ApiClient = await (await newAccount(target())).client('live', 'admin');
      const { id } = await newMember('viewer');
      const invited = await client.post<One<Invitation>>('/v1/invitations', { email: newEmail(), role: 'viewer' });
      const invitation = `/v1/invitations/${expectStatus(invited, 201).body.data.id}`;
      for (const [method, path, json] of [
        ['GET', `/v1/members/${id}`],
        ['PATCH', `/v1/members/${id}`, { role: 'admin' }],
        ['DELETE', `/v1/members/${id}`],
        ['GET', invitation],
        ['DELETE', invitation],
      ] as const) {
        const { status } = await outsider.send(method, path, json ? { json } : {});
        expect([method, path, status]).toEqual([method, path, 404]);
      }
      expect((await outsider.get<Page<Member>>('/v1/members')).body.data).toEqual([]);
      expect((await outsider.get<Page<Invitation>>('/v1/invitations')).body.data).toEqual([]);
      expectStatus(await client.get(`/v1/members/${id}`), 200);
      expectStatus(await client.get(invitation), 200);
    });
  });
}
