import { RmsError } from '@rms/base/errors';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { timestampFromMs } from '@rms/rpc';
import { disposable } from '@rms/testkit';
import { auditCsv } from '../web/src/features/audit/audit-csv.ts';
import { ownWorkspace, startDashboard } from './support.ts';

test('the audit log is filtered by actor, time and environment, and read in pages of up to 1,000', async () => {
  await using dashboard = disposable(await startDashboard({}, { listAuditEntries: () => ({ entries: [] }) }));
  const browser = await dashboard.signIn();
  const path = `/api/workspaces/${ownWorkspace}/live/audit_log`;
  const [since, until] = ['2026-01-02T03:04:00.000Z', '2026-01-03T03:04:00.000Z'];
  const query = new URLSearchParams({
    actor: 'user:usr_1',
    environment: 'sandbox',
    created_after: since,
    created_before: until,
    per_page: '1000',
  });
  expect((await browser.send('GET', `${path}?${query}`)).status).toBe(200);
  expect(dashboard.recorded.find(({ method }) => method === 'listAuditEntries')?.request).toMatchObject({
    workspaceId: ownWorkspace,
    actor: 'user:usr_1',
    environment: Environment.SANDBOX,
    sinceTime: { seconds: BigInt(Date.parse(since) / 1_000) },
    untilTime: { seconds: BigInt(Date.parse(until) / 1_000) },
    pageSize: 1_000,
  });
  for (const wrong of ['environment=test', 'created_before=yesterday', 'per_page=1001']) {
    expect([wrong, (await browser.send('GET', `${path}?${wrong}`)).status]).toEqual([wrong, 400]);
  }
});

describe('Entries of the audit log', () => {
  const changes = [{ field: 'url', before: 'https://a.example/', after: 'https://b.example/' }];
  const entry = (targetId: string, environment = Environment.LIVE) => ({
    ...{
      id: 'aud_1',
      time: timestampFromMs(0),
      actor: 'user:usr_1',
      actorName: 'ann@example.com',
      address: '',
      requestId: 'req_1',
    },
    ...{ environment, action: 'webhook.updated', targetId, targetName: 'Orders' },
    ...{ changesJson: JSON.stringify(changes), detailsJson: '{}' },
  });
  const entries = [
    ...['wh_here', 'wh_gone', 'res_here', 'res_gone', 'key_1', 'usr_1'].map((id) => entry(id)),
    entry('wh_sandbox', Environment.SANDBOX),
  ];
  const exists: Record<string, string[]> = { 1: ['wh_here', 'res_here'], 2: ['wh_sandbox'] };
  const read = async (further: Parameters<typeof startDashboard>[1], listed: unknown[] = entries) => {
    await using dashboard = disposable(
      await startDashboard({}, { listAuditEntries: () => ({ entries: listed }), ...further }),
    );
    const response = await (await dashboard.signIn()).send('GET', `/api/workspaces/${ownWorkspace}/live/audit_log`);
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { target_id: string; target_exists: boolean }[] };
    const linked = data.filter((one) => one.target_exists).map((one) => one.target_id);
    return { data, linked, methods: dashboard.recorded.map(({ method }) => method) };
  };
  const services = {
    batchGetWebhookHealth: ({ environment, ids }: { environment: Environment; ids: string[] }) => ({
      healths: ids.filter((id) => exists[environment]?.includes(id)).map((webhookId) => ({ webhookId })),
    }),
    batchGetResources: ({ requests }: { requests: { id: string; context: { principal: object } }[] }) => ({
      results: requests.map(({ id, context }) => {
        expect(context.principal).toEqual({ workspaceId: ownWorkspace, environment: Environment.LIVE });
        return { result: id === 'res_here' ? { case: 'resource', value: { id } } : { case: 'error', value: {} } };
      }),
    }),
  };

  test('have changes and names, and tell which targets exist', async () => {
    const { data, linked } = await read(services);
    expect(data[0]).toEqual({
      ...{ id: 'aud_1', type: 'audit_entry', created_at: '1970-01-01T00:00:00.000Z', environment: 'live' },
      ...{ actor: 'user:usr_1', actor_name: 'ann@example.com', client_ip: null, request_id: 'req_1' },
      ...{ action: 'webhook.updated', target_id: 'wh_here', target_name: 'Orders', target_exists: true },
      ...{ changes, details: {} },
    });
    expect(linked).toEqual(['wh_here', 'res_here', 'key_1', 'wh_sandbox']);
  });

  test('are listed without links while a service is unavailable', async () => {
    const unavailable = () => {
      throw new RmsError('service_unavailable');
    };
    const { linked } = await read({ batchGetWebhookHealth: unavailable, batchGetResources: unavailable });
    expect(linked).toEqual(['key_1']);
  });

  test('of an export are read without looking up their targets', async () => {
    const { methods } = await read(
      services,
      Array.from({ length: 101 }, (_, i) => entry(`wh_${i}`)),
    );
    expect(methods).not.toContain('batchGetWebhookHealth');
  });
});

test('the export is CSV; values that a spreadsheet would read as formulas are quoted', () => {
  const entry = {
    id: 'aud_1',
    type: 'audit_entry' as const,
    created_at: '2026-01-02T03:04:05.000Z',
    environment: null,
    actor: 'user:usr_1',
    actor_name: null,
    client_ip: null,
    request_id: 'req_1',
    action: 'webhook.updated',
    target_id: 'wh_1',
    target_name: '=cmd()',
    changes: [
      { field: 'url', before: 'https://a.example/', after: 'https://b.example/' },
      { field: 'secret', before: '[secret]', after: '[secret]' },
    ],
    details: { name: 'a' },
  };
  const renamed = { ...entry, actor_name: 'ann.before@example.com', changes: [] };
  const csv = auditCsv([entry, renamed], (actor) => (actor === 'user:usr_1' ? 'ann@example.com' : undefined));
  const rest = '"","wh_1","\'=cmd()","both","req_1"';
  expect(csv).toBe(
    'created_at,action,actor,actor_name,client_ip,target_id,target_name,environment,request_id,changes,details\r\n' +
      `"2026-01-02T03:04:05.000Z","webhook.updated","user:usr_1","ann@example.com",${rest},` +
      '"url: https://a.example/ → https://b.example/\nsecret: changed","{""name"":""a""}"\r\n' +
      `"2026-01-02T03:04:05.000Z","webhook.updated","user:usr_1","ann.before@example.com",${rest},"","{""name"":""a""}"\r\n`,
  );
});
