import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { auditCsv } from '../web/src/features/audit/audit-csv.ts';
import { ownWorkspace, startDashboard } from './support.ts';

test('the audit log is filtered by actor, time and environment, and read in pages of up to 1,000', async () => {
  const dashboard = await startDashboard({}, { listAuditEntries: () => ({ entries: [] }) });
  try {
    const browser = await dashboard.signIn();
    const path = `/api/workspaces/${ownWorkspace}/live/audit`;
    const [since, until] = ['2026-01-02T03:04:00.000Z', '2026-01-03T03:04:00.000Z'];
    const query = new URLSearchParams({ actor: 'user:usr_1', environment: 'sandbox', since, until, per_page: '1000' });
    expect((await browser.send('GET', `${path}?${query}`)).status).toBe(200);
    expect(dashboard.recorded.find(({ method }) => method === 'listAuditEntries')?.request).toMatchObject({
      workspaceId: ownWorkspace,
      actor: 'user:usr_1',
      environment: Environment.SANDBOX,
      sinceTime: { seconds: BigInt(Date.parse(since) / 1_000) },
      untilTime: { seconds: BigInt(Date.parse(until) / 1_000) },
      pageSize: 1_000,
    });
    for (const wrong of ['environment=test', 'until=yesterday', 'per_page=1001']) {
      expect([wrong, (await browser.send('GET', `${path}?${wrong}`)).status]).toEqual([wrong, 400]);
    }
  } finally {
    await dashboard.stop();
  }
});

test('the export is CSV; values that a spreadsheet would read as formulas are quoted', () => {
  const entry = {
    id: 'aud_1',
    time: '2026-01-02T03:04:05.000Z',
    environment: null,
    actor: 'user:usr_1',
    address: null,
    request_id: 'req_1',
    action: 'key.created',
    target_id: '=cmd()',
    details_json: '{"name":"a"}',
  };
  const csv = auditCsv([entry], (actor) => (actor === 'user:usr_1' ? 'ann@example.com' : undefined));
  expect(csv).toBe(
    'time,action,actor,actor_name,address,target_id,environment,request_id,details\r\n' +
      '"2026-01-02T03:04:05.000Z","key.created","user:usr_1","ann@example.com","","\'=cmd()","both","req_1",' +
      '"{""name"":""a""}"\r\n',
  );
});
