import { perSuite, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import {
  type ApiKey,
  type AuditEntry,
  type One,
  type Page,
  timestampForm,
  type Webhook,
} from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

interface Workspace {
  id: string;
  usage: { requests: number } | null;
  objects: Record<'keys' | 'webhooks', { count: number; limit: number | null }>;
}

export function workspaceSuite(target: () => Target): void {
  describe('Workspace and audit log', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    const path = '/v1/audit_log';
    const entries = async (query = '', by = client) =>
      expectStatus(await by.get<Page<AuditEntry>>(`${path}?per_page=100&${query}`), 200).body.data;

    test('GET of the workspace returns its plan, limits, usage and the version of the service', async () => {
      const { body, headers } = expectStatus(await client.get<One<Workspace>>('/v1/workspace'), 200);
      expect(body.data).toMatchObject({
        id: account.workspaceId,
        type: 'workspace',
        name: 'Suite',
        environment: 'live',
        plan: null,
        limits: { window_seconds: expect.any(Number) },
        objects: {
          keys: { count: expect.any(Number), limit: 1_000 },
          webhooks: { count: expect.any(Number), limit: 1_000 },
        },
        server_time: expect.stringMatching(timestampForm),
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      });
      expect(headers.etag).toBeDefined();
      await waitUntil(
        async () => Number((await client.get<One<Workspace>>('/v1/workspace')).body.data.usage?.requests) > 0,
        {
          what: 'counted requests',
        },
      );
      expect((await client.get('/v1/workspace?plan=x')).status).toBe(400);
    });

    test('the workspace has the numbers of its webhooks and valid keys, in both environments', async () => {
      const counts = async (by = client) => {
        const { keys, webhooks } = (await by.get<One<Workspace>>('/v1/workspace')).body.data.objects;
        return [keys.count, webhooks.count] as const;
      };
      const sandbox = await account.client('test', 'admin');
      const [keys, webhooks] = await counts();
      const made = await client.post<One<Webhook>>('/v1/webhooks', { url: 'https://example.com/', events: ['*'] });
      const created = await client.post<One<ApiKey>>('/v1/api_keys', { name: 'counted', scope: 'read' });
      expect(await counts()).toEqual([keys + 1, webhooks + 1]);
      expect(await counts(sandbox)).toEqual([keys + 1, webhooks + 1]);
      expectStatus(await client.delete(`/v1/api_keys/${created.body.data.id}`), 204);
      expectStatus(await client.delete(`/v1/webhooks/${made.body.data.id}`), 204);
      expect(await counts()).toEqual([keys, webhooks]);
    });

    test('every change through the API is in the audit log with the API key as its actor', async () => {
      const created = await client.post<One<ApiKey>>('/v1/api_keys', { name: 'audited', scope: 'admin' });
      const { id, key } = expectStatus(created, 201).body.data;
      const audited = account.clientWith('live', key ?? '');
      const made = await audited.post<One<Webhook>>('/v1/webhooks', { url: 'https://example.com/', events: ['*'] });
      const webhook = `/v1/webhooks/${expectStatus(made, 201).body.data.id}`;
      expectStatus(await audited.patch(webhook, { description: 'x' }), 200);
      expectStatus(await audited.post(`${webhook}/rotate_secret`, {}), 200);
      expectStatus(await audited.delete(webhook), 204);
      expectStatus(await audited.patch(`/v1/api_keys/${id}`, { name: 'renamed' }), 200);
      const rolled = expectStatus(await audited.post<One<ApiKey>>(`/v1/api_keys/${id}/roll`, {}), 201).body.data;
      const revoked = await audited.delete(`/v1/api_keys/${id}`, { headers: { 'x-request-id': 'revoke-itself' } });
      expect(revoked.status).toBe(204);
      const found = await entries(`actor=key:${id}`);
      // Entries in the same transaction have no order.
      expect(found.map(({ action }) => action).sort()).toEqual([
        'key.created',
        'key.revoked',
        'key.rolled',
        'key.updated',
        'webhook.created',
        'webhook.deleted',
        'webhook.secret_rotated',
        'webhook.updated',
      ]);
      expect(found[0]).toMatchObject({
        type: 'audit_entry',
        action: 'key.revoked',
        target_id: id,
        environment: 'live',
        request_id: 'revoke-itself',
        client_ip: expect.any(String),
      });
      const changesOf = (action: string) => found.find((entry) => entry.action === action)?.changes;
      const changes = [{ field: 'description', before: null, after: 'x' }];
      expect(changesOf('webhook.updated')).toEqual(changes);
      expect(changesOf('key.updated')).toEqual([{ field: 'name', before: 'audited', after: 'renamed' }]);
      expect(changesOf('webhook.secret_rotated')).toContainEqual({
        field: 'secret',
        before: '[secret]',
        after: '[secret]',
      });
      // Names are as of the action.
      const namesOf = (action: string) => {
        const entry = found.find((one) => one.action === action);
        return [entry?.actor_name, entry?.target_name];
      };
      expect(namesOf('webhook.deleted')).toEqual(['audited', 'x']);
      expect(namesOf('key.updated')).toEqual(['audited', 'renamed']);
      expect(namesOf('key.revoked')).toEqual(['renamed', 'renamed']);
      expect((await entries(`target_id=${rolled.id}`)).map(({ action }) => action)).toEqual(['key.created']);
      expect((await entries('action=webhook.')).every(({ action }) => action.startsWith('webhook.'))).toBe(true);
      expect(JSON.stringify(found)).not.toMatch(/whsec_|sk_live_\w{10}/);
    });

    test('the audit log is filtered by time and environment and read in pages', async () => {
      const own = await newAccount(target());
      const [live, sandbox] = [await own.client('live', 'admin'), await own.client('test', 'admin')];
      for (const by of [live, sandbox, live]) {
        expectStatus(await by.post<One<ApiKey>>('/v1/api_keys', { name: 'paged', scope: 'read' }), 201);
      }
      const all = await entries('', live);
      expect(new Set(all.map(({ environment }) => environment))).toEqual(new Set(['live', null]));
      const read: AuditEntry[] = [];
      let last: Page<AuditEntry> | undefined;
      for (let url: string | null = `${path}?per_page=2`; url !== null; url = last.links.next) {
        last = expectStatus(await live.get<Page<AuditEntry>>(url), 200).body;
        expect(last.meta.total).toBeNull();
        read.push(...last.data);
      }
      expect(read).toEqual(all);
      const back = expectStatus(await live.get<Page<AuditEntry>>(last?.links.prev ?? ''), 200).body.data;
      expect(all.slice(-2 - (last?.data.length ?? 0)).slice(0, 2)).toEqual(back);
      const { created_at: first } = all.at(-1) as AuditEntry;
      expect(await entries(`created_before=${first}`, live)).toEqual([]);
      expect(await entries(`created_after=${first}`, live)).toEqual(all);
      expect(await entries('created_after=2999-01-01T00:00:00%2B01:00', live)).toEqual([]);
    });

    test('invalid filters of the audit log get 400', async () => {
      for (const query of [
        'created_after=yesterday',
        'created_after=2026-01-01',
        'created_before=2026-02-30T00:00:00Z',
        'action=',
        'actor=%00',
        `target_id=${'x'.repeat(201)}`,
        'cursor=aud_00000000000000000000000000',
        'environment=test',
      ]) {
        expect([query, (await client.get(`${path}?${query}`)).status]).toEqual([query, 400]);
      }
    });
  });
}
