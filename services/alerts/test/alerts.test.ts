import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { readEmail } from './read-email.ts';
import {
  deliveryCounts,
  newTenant,
  requestCounts,
  startAlerts,
  type Tenant,
  waitForEvaluation,
  webhookUrl,
} from './support.ts';

describe('Alerts', () => {
  const smtp = perSuite(startSmtpReceiver);
  const service = perSuite(() => startAlerts({ smtpUrl: smtp.url }));

  const newOwner = (environment = Environment.LIVE) => service.newOwner(environment, 'Acme & Söhne');
  const emailsTo = (address: string) => smtp.emails().filter(({ to }) => to.includes(address));
  const emailed = (address: string, count: number) =>
    waitUntil(() => (emailsTo(address).length >= count ? emailsTo(address) : undefined), { what: `${count} emails` });
  const incidentsOf = async (tenant: Tenant) =>
    (await service.alerts.listIncidents({ ...tenant, pageSize: 100 })).incidents;
  const inState = (tenant: Tenant, state: IncidentState) =>
    waitUntil(async () => (await incidentsOf(tenant)).find((one) => one.state === state), { what: 'the incident' });

  test('consecutive failures of a webhook open one incident and send one email with a link to its deliveries', async () => {
    const { tenant, owner } = newOwner();
    const webhookId = newId('wh');
    const lastError = 'status: 204; only 200 counts as delivered';
    const failing = () => deliveryCounts({ ...tenant, webhookId, attempts: 2, failedAttempts: 2, lastError });
    await service.report({ deliveries: [failing()] });
    await service.report({ deliveries: [failing()] });
    const [email] = await emailed(owner, 1);
    const { subject, headers, text } = readEmail(email?.raw ?? '');
    expect(subject).toBe('Consecutive delivery attempts failed: hooks.example.com/orders?key=1 · Acme & Söhne (live)');
    expect(text).toContain(`Webhook: ${webhookUrl} (${webhookId})`);
    expect(text).toContain('the alert rule “Consecutive webhook failures” of Acme & Söhne (live)');
    expect(text).toContain(
      `https://dashboard.example.com/w/${tenant.workspaceId}/live/deliveries?webhook=${webhookId}&status=failed,retrying&test=false`,
    );
    // The lines of an email are short.
    expect(text.replace(/\s+/g, ' ')).toContain(
      `the last 4 delivery attempts to the webhook failed; last error: ${lastError}.`,
    );
    expect(headers).toMatch(/^List-Unsubscribe: <https:\/\/dashboard\.example\.com\/unsubscribe\?token=[\w-]+>$/im);
    expect(headers).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/im);
    expect(headers).toMatch(/^Auto-Submitted: auto-generated$/im);
    for (let i = 0; i < 3; i += 1) await service.report({ deliveries: [failing()] });
    await waitUntil(async () => (await incidentsOf(tenant))[0]?.worstValue === 10, { what: 'the worst value' });
    expect(await incidentsOf(tenant)).toMatchObject([
      {
        kind: AlertKind.DELIVERY_FAILURES_IN_A_ROW,
        subjectId: webhookId,
        state: IncidentState.OPEN,
        notices: 1,
        value: 4,
      },
    ]);
    await service.report({ deliveries: [deliveryCounts({ ...tenant, webhookId, attempts: 1, delivered: 1 })] });
    await inState(tenant, IncidentState.RECOVERED);
    await service.database.pool.query('update alerts.notifications set due_at = now()');
    const both = await emailed(owner, 2);
    expect(both.map(({ raw }) => readEmail(raw).subject)).toEqual([
      'Consecutive delivery attempts failed: hooks.example.com/orders?key=1 · Acme & Söhne (live)',
      'Recovered: Consecutive delivery attempts failed: hooks.example.com/orders?key=1 · Acme & Söhne (live)',
    ]);
    expect(repliesTo(both[1]?.raw)).toEqual(messageIdOf(both[0]?.raw));
  });

  const headerOf = (raw: string | undefined, name: string) =>
    new RegExp(`^${name}: (<.+>)$`, 'im').exec(readEmail(raw ?? '').headers)?.[1];
  const messageIdOf = (raw: string | undefined) => ({
    inReplyTo: headerOf(raw, 'Message-ID'),
    references: headerOf(raw, 'Message-ID'),
  });
  const repliesTo = (raw: string | undefined) => ({
    inReplyTo: headerOf(raw, 'In-Reply-To'),
    references: headerOf(raw, 'References'),
  });

  test('a recovery replies to the email that reported the problem and has its title, even if another rule reported it', async () => {
    const { tenant, owner } = newOwner();
    const webhookId = newId('wh');
    await service.report({ deliveries: [deliveryCounts({ ...tenant, webhookId, attempts: 4, failedAttempts: 4 })] });
    await emailed(owner, 1);
    // The second rule reports the same problem, without an email.
    await service.report({ deliveries: [deliveryCounts({ ...tenant, webhookId, attempts: 20, failedAttempts: 20 })] });
    await waitUntil(async () => (await incidentsOf(tenant)).length === 2, { what: 'the second incident' });
    await service.report({ deliveries: [deliveryCounts({ ...tenant, webhookId, attempts: 100, delivered: 100 })] });
    const calm = () =>
      service.database.pool.query(
        `update alerts.incidents set calm_since = now() - interval '1 hour'
          where workspace_id = $1 and calm_since is not null and state = 'open'`,
        [tenant.workspaceId],
      );
    await waitUntil(async () => (await calm()).rowCount === 1, { what: 'the failure rate to drop' });
    await waitUntil(async () => (await incidentsOf(tenant)).every((one) => one.state === IncidentState.RECOVERED), {
      what: 'both recoveries',
    });
    await service.database.pool.query('update alerts.notifications set due_at = now()');
    const [first, second] = await emailed(owner, 2);
    const title = readEmail(first?.raw ?? '').subject;
    expect(title).toMatch(/^Consecutive delivery attempts failed: /);
    expect(readEmail(second?.raw ?? '').subject).toBe(`Recovered: ${title}`);
    expect(repliesTo(second?.raw)).toEqual(messageIdOf(first?.raw));
  });

  test('a failure rate opens an incident once there are enough requests; 429 does not count as a failure', async () => {
    const { tenant, owner } = newOwner();
    await service.report({ requests: [requestCounts({ ...tenant, requests: 49, admitted: 49, serverErrors: 49 })] });
    await service.report({
      requests: [requestCounts({ ...tenant, requests: 30, admitted: 0, clientErrors: 30, rateLimited: 30 })],
    });
    await evaluated(tenant);
    expect(await incidentsOf(tenant)).toEqual([]);
    await service.report({ requests: [requestCounts({ ...tenant, requests: 1, admitted: 1 })] });
    const incident = await inState(tenant, IncidentState.OPEN);
    expect(incident).toMatchObject({
      kind: AlertKind.API_ERROR_RATE,
      subjectId: '',
      summary: '98% of 50 API requests failed within 5 minutes',
    });
    const [email] = await emailed(owner, 1);
    expect(readEmail(email?.raw ?? '').subject).toBe('API requests fail · Acme & Söhne (live)');
  });

  test('an email about requests has the most frequent status, route and key, and links to the requests', async () => {
    const { auth } = service;
    const { tenant, owner } = newOwner();
    auth.failures = {
      ...{ requests: 48, status: 404, withStatus: 40, method: 'GET', route: '/v1/resources/:id', withRoute: 30 },
      ...{ keyId: 'key_1', keyName: 'ci-deploy', keyHint: 'sk_live_ab…wxyz', withKey: 48 },
    };
    const counts = requestCounts({ ...tenant, requests: 100, admitted: 100, clientErrors: 48 });
    await service.report({ requests: [counts] });
    const text = async (count: number) => {
      const emails = await emailed(owner, count);
      return readEmail(emails[count - 1]?.raw ?? '').text.replace(/\s+/g, ' ');
    };
    const failing = await text(1);
    expect(failing).toContain(
      '48% of 100 API requests failed within 5 minutes; most frequent: status 404 (40 of 48), ' +
        'route GET /v1/resources/{id} (30), API key ci-deploy, sk_live_ab…wxyz (48).',
    );
    const [read] = auth.summarized.filter(({ workspaceId }) => workspaceId === tenant.workspaceId);
    expect(read).toMatchObject({ environment: Environment.LIVE, rateLimited: false });
    const [sinceMs, untilMs] = [read?.since, read?.until].map((time) => timestampMs(time as Timestamp));
    expect(Number(untilMs) - Number(sinceMs)).toBe(6 * 60_000);
    const period = new URLSearchParams({
      since: new Date(Number(sinceMs)).toISOString(),
      until: new Date(Number(untilMs)).toISOString(),
    });
    const page = `https://dashboard.example.com/w/${tenant.workspaceId}/live/requests`;
    expect(failing).toContain(`${page}?status=404&${period}`);

    auth.failures = {};
    const rejected = requestCounts({ ...tenant, requests: 60, admitted: 0, clientErrors: 60, rateLimited: 60 });
    await service.report({ requests: [rejected] });
    const limited = await text(2);
    expect(limited).toContain('60 API requests were rejected by the rate limit within 15 minutes.');
    expect(limited).toContain(`${page}?status=429&since=`);
    expect(auth.summarized.at(-1)).toMatchObject({ rateLimited: true });
  });

  const evaluated = (tenant: Tenant) => waitForEvaluation(service.database, tenant);

  test('the quota rule warns at 80% and reports when the quota is used up, once each', async () => {
    const { tenant, owner } = newOwner();
    const use = (admitted: number) =>
      service.report({ requests: [requestCounts({ ...tenant, requests: admitted, admitted, monthlyQuota: 100 })] });
    await use(79);
    await use(1);
    const warning = await inState(tenant, IncidentState.OPEN);
    expect(warning).toMatchObject({
      kind: AlertKind.QUOTA,
      subjectId: 'warning',
      summary: "80% of this month's quota of 100 requests is used",
    });
    await emailed(owner, 1);
    await use(20);
    await waitUntil(async () => (await incidentsOf(tenant)).some(({ subjectId }) => subjectId === 'exceeded'), {
      what: 'the second incident',
    });
    const emails = await emailed(owner, 2);
    expect(emails.map(({ raw }) => readEmail(raw).subject)).toEqual([
      'Monthly quota: nearly used up · Acme & Söhne (live)',
      'Monthly quota: used up · Acme & Söhne (live)',
    ]);
    expect((await incidentsOf(tenant)).map(({ state }) => state)).toEqual([IncidentState.OPEN, IncidentState.OPEN]);
  });

  test('a disabled webhook opens an incident, which recovers when the webhook is enabled and ends silently when it is deleted', async () => {
    const { tenant, owner } = newOwner(Environment.SANDBOX);
    const [enabled, deleted] = [newId('wh'), newId('wh')];
    await service.notify(tenant, 'webhook.disabled', enabled);
    await emailed(owner, 1);
    for (const id of [deleted, enabled]) await service.notify(tenant, 'webhook.disabled', id);
    const emails = await emailed(owner, 2);
    expect(readEmail(emails[0]?.raw ?? '').text).toContain('its endpoint responded with 410 Gone');
    await service.notify(tenant, 'webhook.enabled', enabled);
    await service.notify(tenant, 'webhook.deleted', deleted);
    await inState(tenant, IncidentState.RECOVERED);
    await emailed(owner, 3);
    const states = (await incidentsOf(tenant)).map(({ subjectId, state }) => [subjectId, state]);
    expect(new Map(states as [string, IncidentState][])).toEqual(
      new Map([
        [enabled, IncidentState.RECOVERED],
        [deleted, IncidentState.ENDED],
      ]),
    );
    expect(emailsTo(owner)).toHaveLength(3);
    // Disabling the webhook again within a day opens a new incident.
    await service.notify(tenant, 'webhook.disabled', enabled, { atMs: Date.now() + 1 });
    await emailed(owner, 4);
  });

  test('notices about a webhook take effect in the order of its changes, regardless of the order of arrival', async () => {
    const { tenant } = newOwner();
    const id = newId('wh');
    const isDisabled = async () => {
      const found = await service.database.pool.query('select from alerts.disabled_webhooks where webhook_id = $1', [
        id,
      ]);
      return found.rowCount === 1;
    };
    const now = Date.now();
    // The times are start times of transactions, which can commit in another order than they begin.
    const happened: [type: string, sequence: bigint, atMs: number, disabled: boolean][] = [
      ['webhook.disabled', 2n, now, true],
      ['webhook.enabled', 1n, now + 1, true],
      ['webhook.enabled', 3n, now - 1, false],
      ['webhook.disabled', 2n, now, false],
      ['webhook.disabled', 4n, now, true],
      ['webhook.deleted', 6n, now, false],
      ['webhook.disabled', 5n, now + 2, false],
    ];
    for (const [type, sequence, atMs, disabled] of happened) {
      await service.notify(tenant, type, id, { sequence, atMs });
      expect([type, sequence, await isDisabled()]).toEqual([type, sequence, disabled]);
    }
  });

  test('a key that expires within a week sends one email, and the incident recovers after a roll', async () => {
    const { tenant, owner } = newOwner();
    const key = { workspaceId: tenant.workspaceId, environment: Environment.LIVE };
    const inDays = (days: number) => timestampFromMs(Date.now() + days * 86_400_000);
    service.auth.setKeys(
      { ...key, id: 'key_soon', name: 'nightly', expireTime: inDays(6) },
      { ...key, id: 'key_later', name: 'later', expireTime: inDays(8) },
      { ...key, id: 'key_rolled', name: 'rolled', expireTime: inDays(1), rollTime: inDays(0) },
      { ...key, id: 'key_never', name: 'never' },
    );
    const [email] = await emailed(owner, 1);
    expect(readEmail(email?.raw ?? '').text).toContain('the API key "nightly" expires at');
    expect(await incidentsOf(tenant)).toMatchObject([{ subjectId: 'key_soon', kind: AlertKind.KEY_EXPIRY }]);
    service.auth.setKeys();
    await inState(tenant, IncidentState.RECOVERED);
  });

  test('disabling a rule ends its incident silently and prevents new ones', async () => {
    const { tenant, owner } = newOwner();
    const kind = AlertKind.WEBHOOK_DISABLED;
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await emailed(owner, 1);
    await service.alerts.updateRule({ ...tenant, kind, enabled: false });
    await inState(tenant, IncidentState.ENDED);
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await evaluated(tenant);
    expect(await incidentsOf(tenant)).toHaveLength(1);
    expect(emailsTo(owner)).toHaveLength(1);
  });

  test('an unsubscribed address gets no more emails of the rule until it subscribes again', async () => {
    const { tenant, owner } = newOwner();
    const kind = AlertKind.WEBHOOK_DISABLED;
    await service.alerts.updateRule({ ...tenant, kind, recipients: { addresses: ['viewer@example.com'] } });
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    const [email] = await emailed(owner, 1);
    const { headers, text } = readEmail(email?.raw ?? '');
    const [, token = '', undoToken = ''] = /unsubscribe\?token=([\w-]+)#([\w-]+)/.exec(text) ?? [];
    // The header has no fragment, because email clients POST to its URL.
    expect(headers).toContain(`/unsubscribe?token=${token}>`);
    const before = { address: owner, ...tenant, kind, unsubscribed: false };
    expect(await service.alerts.describeUnsubscribe({ token })).toMatchObject(before);
    await service.alerts.unsubscribe({ token });
    await service.alerts.unsubscribe({ token });
    expect(await service.alerts.describeUnsubscribe({ token })).toMatchObject({ ...before, unsubscribed: true });
    const { addresses } = await service.alerts.testRule({ ...tenant, kind });
    expect(addresses).toEqual(['viewer@example.com']);
    expect((await service.alerts.testRule({ ...tenant, kind: AlertKind.QUOTA })).addresses).toEqual([owner]);
    // The token in the query, which servers log, only unsubscribes.
    await expect(service.alerts.resubscribe({ token })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(service.alerts.unsubscribe({ token: undoToken })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await service.alerts.describeUnsubscribe({ token })).toMatchObject({ unsubscribed: true });
    await service.alerts.resubscribe({ token: undoToken });
    await service.alerts.resubscribe({ token: undoToken });
    expect((await service.alerts.testRule({ ...tenant, kind })).addresses).toEqual(['viewer@example.com', owner]);
    await expect(service.alerts.unsubscribe({ token: 'made up' })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('names and addresses from users cannot inject headers or HTML', async () => {
    const { tenant, owner } = newOwner();
    service.auth.addWorkspace(
      tenant.workspaceId,
      'Evil\r\nBcc: victim@example.com\r\n<script>alert(1)</script>',
      owner,
    );
    await service.notify(tenant, 'webhook.disabled', '"><img src=x onerror=alert(1)>');
    const [email] = await emailed(owner, 1);
    expect(email?.to).toEqual([owner]);
    const { headers } = readEmail(email?.raw ?? '');
    expect(headers).not.toMatch(/^Bcc:/im);
    const { text } = readEmail(email?.raw ?? '');
    expect(text.slice(text.indexOf('text/html'))).not.toMatch(/<script|<img/i);
  });

  test('an outage of auth delays emails but loses none', async () => {
    const { tenant, owner } = newOwner();
    service.auth.unavailable = true;
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await inState(tenant, IncidentState.OPEN);
    await waitUntil(() => service.logged.some((line) => line.includes('could not send an alert notification')), {
      what: 'the warning',
    });
    service.auth.unavailable = false;
    await service.database.pool.query('update alerts.notifications set due_at = now()');
    await emailed(owner, 1);
  });

  test('incidents of other workspaces and environments are not visible', async () => {
    const { tenant, owner } = newOwner();
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await emailed(owner, 1);
    expect(await incidentsOf(newTenant())).toEqual([]);
    expect(await incidentsOf({ ...tenant, environment: Environment.SANDBOX })).toEqual([]);
    expect(await incidentsOf({ ...tenant, environment: Environment.UNSPECIFIED })).toHaveLength(1);
    const first = await service.alerts.listIncidents({ ...tenant, pageSize: 1 });
    expect(first).toMatchObject({ incidents: [{ workspaceId: tenant.workspaceId }], nextPageToken: '' });
    await expect(service.alerts.listIncidents({ ...tenant, pageSize: 0 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(service.alerts.listIncidents({ ...tenant, pageSize: 1, pageToken: 'x' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
