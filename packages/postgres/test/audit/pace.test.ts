import { perSuite, testDatabase } from '@rms/testkit';
import { type AuditOrigin, appendAudit, auditThrottles, migrations } from '../../src/audit/index.ts';

const principal = { workspaceId: 'ws_1', keyId: 'key_1' } as AuditOrigin['principal'];
const byKey = { actor: '', actorName: '', clientAddress: '', requestId: '', principal } as AuditOrigin;
const byUser = { ...byKey, actor: 'user:usr_1' };
const byOperator = { ...byKey, actor: 'operator:a@b' };

describe('The pace of audited changes', () => {
  const database = perSuite(() => testDatabase([migrations]));

  const target = { id: 'wh_1', name: '' };
  const tested = (workspaceId: string, more: { readonly environment?: undefined } = {}) => [
    { workspaceId, environment: 'live' as const, target, action: 'webhook.tested' as const, ...more },
  ];
  const useUp = (workspaceId: string) =>
    database.pool.query("insert into audit.throttles values ($1, now() + interval '50000 s')", [
      Buffer.from(workspaceId),
    ]);
  const count = async (workspaceId: string) =>
    (await database.pool.query('select from audit.entries where workspace_id = $1', [workspaceId])).rowCount;

  test('is a burst of 5,000 per workspace, then one per 10 s, for users and API keys', async () => {
    await appendAudit(database.pool, byKey, tested('ws_first'));
    await useUp('ws_1');
    for (const origin of [byKey, byUser]) {
      const refused = await appendAudit(database.pool, origin, tested('ws_1')).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: expect.any(Number) });
      const { retryAfterSeconds } = refused as { retryAfterSeconds: number };
      expect(retryAfterSeconds).toBeGreaterThan(5);
      expect(retryAfterSeconds).toBeLessThanOrEqual(10);
    }
    expect(await count('ws_1')).toBe(0);
    await appendAudit(database.pool, byKey, tested('ws_other'));
    expect(await count('ws_other')).toBe(1);
  });

  test('does not apply to operators, to entries of both environments, and to the end of an object', async () => {
    await useUp('ws_2');
    await appendAudit(database.pool, byOperator, tested('ws_2'));
    await appendAudit(database.pool, byUser, tested('ws_2', { environment: undefined }));
    const revoked = { ...tested('ws_2')[0], action: 'key.revoked', changes: [{}] };
    await appendAudit(database.pool, byKey, [revoked as never]);
    expect(await count('ws_2')).toBe(3);
  });

  test('forgets workspaces that have not changed anything for long', async () => {
    await database.pool.query("insert into audit.throttles values ('\\x01', now() - interval '1 s')");
    const before = await database.pool.query('select from audit.throttles');
    await auditThrottles.trim(database.pool);
    const after = await database.pool.query('select from audit.throttles');
    expect(after.rowCount).toBe((before.rowCount ?? 0) - 1);
  });
});
