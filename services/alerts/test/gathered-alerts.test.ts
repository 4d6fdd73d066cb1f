import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { perSuite, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { emailsTo } from './read-email.ts';
import { deliveryCounts, startAlerts, type Tenant, waitForEvaluation } from './support.ts';

const hourMs = 3_600_000;
const webhook = 'hooks.example.com/orders?key=1';

describe('Incidents of a rule that open close together', () => {
  let nowMs = Date.now();
  const smtp = perSuite(startSmtpReceiver);
  // Notifications become due when the tests say so.
  const service = perSuite(() => startAlerts({ smtpUrl: smtp.url, now: () => nowMs, gatherMs: hourMs }));

  const pending = async ({ workspaceId }: Tenant) => {
    const { rows } = await service.database.pool.query<{ count: number; windows: number }>(
      `select count(*)::int as count, count(distinct due_at)::int as windows from alerts.notifications
        where workspace_id = $1`,
      [workspaceId],
    );
    return rows[0];
  };
  const elapse = async (tenant: Tenant) => {
    const { pool } = service.database;
    await pool.query('update alerts.notifications set due_at = now() where workspace_id = $1', [tenant.workspaceId]);
    await waitUntil(async () => (await pending(tenant))?.count === 0, { what: 'the emails to be queued' });
  };
  const sentTo = (address: string) => emailsTo(smtp, address);
  const disable = async (tenant: Tenant, webhookIds: readonly string[]) => {
    for (const id of webhookIds) await service.notify(tenant, 'webhook.disabled', id, { atMs: nowMs });
    await waitForEvaluation(service.database, tenant);
  };
  const deliveries = async (tenant: Tenant, counts: object) => {
    await service.report({
      deliveries: [{ ...deliveryCounts({ ...tenant, ...counts }), time: timestampFromMs(nowMs) }],
    });
    await waitForEvaluation(service.database, tenant);
  };

  test('are in one email per recipient, which lists them; so are their recoveries', async () => {
    const { tenant, owner } = service.newOwner();
    const webhookIds = Array.from({ length: 60 }, () => newId('wh'));
    for (let i = 0; i < 3; i += 1) {
      await disable(tenant, webhookIds.slice(i * 20, (i + 1) * 20));
      nowMs += 20_000;
    }
    expect(await pending(tenant)).toEqual({ count: 60, windows: 1 });
    expect(sentTo(owner)).toEqual([]);
    await elapse(tenant);
    await waitUntil(() => sentTo(owner).length > 0, { what: 'the email' });
    const [email, ...others] = sentTo(owner);
    expect([others, email?.subject]).toEqual([[], 'Webhook disabled: 60 webhooks · Acme (live)']);
    const text = email?.text.replace(/\s+/g, ' ') ?? '';
    expect(webhookIds.filter((id) => text.includes(`(${id})`))).toHaveLength(50);
    expect(text).toContain('And 10 more.');
    expect(text).toContain(`/w/${tenant.workspaceId}/live/settings/alerts`);

    // A later incident begins another email.
    const last = newId('wh');
    await disable(tenant, [last]);
    expect(await pending(tenant)).toEqual({ count: 1, windows: 1 });
    await elapse(tenant);
    await waitUntil(() => sentTo(owner).length === 2, { what: 'the second email' });
    expect(sentTo(owner).at(-1)?.subject).toBe(`Webhook disabled: ${webhook} · Acme (live)`);

    for (const id of webhookIds) await service.notify(tenant, 'webhook.enabled', id, { atMs: nowMs });
    await waitForEvaluation(service.database, tenant);
    const { incidents } = await service.alerts.listIncidents({ ...tenant, pageSize: 100 });
    expect(incidents.filter(({ state }) => state === IncidentState.RECOVERED)).toHaveLength(60);
    await elapse(tenant);
    await waitUntil(() => sentTo(owner).length === 3, { what: 'the email about the recovery' });
    expect(sentTo(owner).at(-1)?.subject).toBe('Recovered: Webhook disabled: 60 webhooks · Acme (live)');
  });

  test('are one email of a storm of 50 endpoints, to which all recoveries reply with its title', async () => {
    const { tenant, owner } = service.newOwner();
    const webhookIds = Array.from({ length: 50 }, () => newId('wh'));
    const report = async (ids: readonly string[], counts: object) => {
      const time = timestampFromMs(nowMs);
      await service.report({
        deliveries: ids.map((webhookId) => ({ ...deliveryCounts({ ...tenant, webhookId, ...counts }), time })),
      });
      await waitForEvaluation(service.database, tenant);
    };
    const headerOf = (email: { headers: string } | undefined, name: string) =>
      new RegExp(`^${name}: (<.+>)$`, 'im').exec(email?.headers ?? '')?.[1];
    for (let i = 0; i < 50; i += 10) {
      await report(webhookIds.slice(i, i + 10), { attempts: 5, failedAttempts: 5 });
      nowMs += 20_000;
    }
    await elapse(tenant);
    await waitUntil(() => sentTo(owner).length > 0, { what: 'the digest' });
    const title = 'Consecutive delivery attempts failed: 50 webhooks · Acme (live)';
    for (const [ids, prefix] of [
      [webhookIds.slice(0, 10), 'Partly recovered: '],
      [webhookIds.slice(10), 'Recovered: '],
    ] as const) {
      const before = sentTo(owner).length;
      await report(ids, { attempts: 1, delivered: 1 });
      await elapse(tenant);
      await waitUntil(() => sentTo(owner).length > before, { what: 'the email about recoveries' });
      expect(sentTo(owner).at(-1)?.subject).toBe(prefix + title);
    }
    const [digest, ...replies] = sentTo(owner);
    expect([digest?.subject, replies.length]).toEqual([title, 2]);
    const messageId = headerOf(digest, 'Message-ID');
    expect(messageId).toBeDefined();
    for (const reply of replies) {
      expect([headerOf(reply, 'In-Reply-To'), headerOf(reply, 'References')]).toEqual([messageId, messageId]);
    }
  });

  test('are reported to each recipient of the rule who has not unsubscribed from it', async () => {
    const { tenant, owner } = service.newOwner();
    const kind = AlertKind.WEBHOOK_DISABLED;
    await service.alerts.updateRule({ ...tenant, kind, recipients: { addresses: ['viewer@example.com'] } });
    await disable(tenant, [newId('wh')]);
    await elapse(tenant);
    await waitUntil(() => sentTo(owner).length === 1, { what: 'the first email' });
    const [, token = ''] = /unsubscribe\?token=([\w-]+)/.exec(sentTo(owner)[0]?.text ?? '') ?? [];
    await disable(tenant, [newId('wh'), newId('wh')]);
    // Also after the incidents have opened.
    await service.alerts.unsubscribe({ token });
    await elapse(tenant);
    const subjects = () => sentTo('viewer@example.com').map(({ subject }) => subject);
    await waitUntil(() => subjects().length === 2, { what: 'the second email' });
    expect(subjects().at(-1)).toBe('Webhook disabled: 2 webhooks · Acme (live)');
    expect(sentTo(owner)).toHaveLength(1);
  });

  test('exclude those that another rule has reported to the same recipient', async () => {
    const { tenant, owner } = service.newOwner();
    const onCall = 'viewer@example.com';
    await service.alerts.updateRule({
      ...tenant,
      kind: AlertKind.DELIVERY_FAILURE_RATE,
      recipients: { addresses: [onCall] },
    });
    const [both, rateOnly] = [newId('wh'), newId('wh')];
    const before = sentTo(onCall).length;
    await deliveries(tenant, { webhookId: both, attempts: 3, failedAttempts: 3 });
    nowMs += 1_000;
    await deliveries(tenant, { webhookId: both, attempts: 20, failedAttempts: 20 });
    await deliveries(tenant, {
      ...{ webhookId: rateOnly, attempts: 20, failedAttempts: 10, failuresAtEnd: 0, delivered: 10 },
    });
    await elapse(tenant);
    await waitUntil(() => sentTo(owner).length === 2 && sentTo(onCall).length > before, { what: 'the emails' });
    expect(
      sentTo(owner)
        .map(({ subject }) => subject)
        .sort(),
    ).toEqual([
      `Consecutive delivery attempts failed: ${webhook} · Acme (live)`,
      `Many delivery attempts fail: ${webhook} · Acme (live)`,
    ]);
    const ofRate = sentTo(owner).find(({ subject }) => subject.startsWith('Many'));
    expect([ofRate?.text.includes(rateOnly), ofRate?.text.includes(both)]).toEqual([true, false]);
    expect(
      sentTo(onCall)
        .slice(before)
        .map(({ subject }) => subject),
    ).toEqual(['Many delivery attempts fail: 2 webhooks · Acme (live)']);
  });
});
