import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/ids';
import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type SmtpReceiver, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { readMail } from './read-mail.ts';
import {
  deliveryCounts,
  lookedAt,
  newTenant,
  requestCounts,
  startAlerts,
  type Tenant,
  type TestAlerts,
} from './support.ts';

describe('Alerts', () => {
  let smtp: SmtpReceiver;
  let service: TestAlerts;
  beforeAll(async () => {
    smtp = await startSmtpReceiver();
    service = await startAlerts({ smtpUrl: smtp.url });
  });
  afterAll(async () => {
    await service?.stop();
    await smtp?.stop();
  });

  let reports = 0;
  const report = (parts: object) => {
    reports += 1;
    return service.usage.reportUsage({ reporterId: 'test', sequence: BigInt(reports), ...parts });
  };
  /** A workspace with an owner of its own, whose mails can be told. */
  const newOwner = (environment = Environment.LIVE) => {
    const tenant = newTenant(environment);
    const owner = `owner-${tenant.workspaceId.slice(-8)}@example.com`;
    service.auth.addWorkspace(tenant.workspaceId, 'Acme & Söhne', owner);
    return { tenant, owner };
  };
  const mailsTo = (address: string) => smtp.mails().filter(({ to }) => to.includes(address));
  const mailed = (address: string, count: number) =>
    waitUntil(() => (mailsTo(address).length >= count ? mailsTo(address) : undefined), { what: `${count} mails` });
  const incidentsOf = async (tenant: Tenant) =>
    (await service.alerts.listIncidents({ ...tenant, pageSize: 100 })).incidents;
  const inState = (tenant: Tenant, state: IncidentState) =>
    waitUntil(async () => (await incidentsOf(tenant)).find((one) => one.state === state), { what: 'the incident' });

  test('a webhook whose attempts fail in a row makes one incident and one mail, with a link to its deliveries', async () => {
    const { tenant, owner } = newOwner();
    const webhookId = newId('wh');
    const failing = () => deliveryCounts({ ...tenant, webhookId, attempts: 2, failedAttempts: 2 });
    await report({ deliveries: [failing()] });
    await report({ deliveries: [failing()] });
    const [mail] = await mailed(owner, 1);
    const { subject, headers, text } = readMail(mail?.raw ?? '');
    expect(subject).toBe('Webhook deliveries fail · Acme & Söhne (live)');
    expect(text).toContain(
      `https://dashboard.example.com/w/${tenant.workspaceId}/live/deliveries?webhook=${webhookId}`,
    );
    expect(text).toContain('the last 4 attempts to deliver to the webhook failed');
    expect(headers).toMatch(/^List-Unsubscribe: <https:\/\/dashboard\.example\.com\/unsubscribe\?token=[\w-]+>$/im);
    expect(headers).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/im);
    expect(headers).toMatch(/^Auto-Submitted: auto-generated$/im);
    for (let i = 0; i < 3; i += 1) await report({ deliveries: [failing()] });
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
    await report({ deliveries: [deliveryCounts({ ...tenant, webhookId, attempts: 1, delivered: 1 })] });
    await inState(tenant, IncidentState.RECOVERED);
    const both = await mailed(owner, 2);
    expect(both.map(({ raw }) => readMail(raw).subject)).toEqual([
      'Webhook deliveries fail · Acme & Söhne (live)',
      'Recovered: Webhook deliveries fail · Acme & Söhne (live)',
    ]);
  });

  test('a share of failed requests alerts once there are enough; 429 is no failure', async () => {
    const { tenant, owner } = newOwner();
    await report({ requests: [requestCounts({ ...tenant, requests: 49, admitted: 49, serverErrors: 49 })] });
    await report({
      requests: [requestCounts({ ...tenant, requests: 30, admitted: 0, clientErrors: 30, rateLimited: 30 })],
    });
    await looked(tenant);
    expect(await incidentsOf(tenant)).toEqual([]);
    await report({ requests: [requestCounts({ ...tenant, requests: 1, admitted: 1 })] });
    const incident = await inState(tenant, IncidentState.OPEN);
    expect(incident).toMatchObject({
      kind: AlertKind.API_ERROR_RATE,
      subjectId: '',
      summary: '98 % of 50 API requests failed within 5 minutes',
    });
    const [mail] = await mailed(owner, 1);
    expect(readMail(mail?.raw ?? '').subject).toBe('API errors · Acme & Söhne (live)');
  });

  const looked = (tenant: Tenant) => lookedAt(service.database, tenant);

  test('the quota warns at 80 %, and says when it is used up; each once', async () => {
    const { tenant, owner } = newOwner();
    const use = (admitted: number) =>
      report({ requests: [requestCounts({ ...tenant, requests: admitted, admitted, monthlyQuota: 100 })] });
    await use(79);
    await use(1);
    const warning = await inState(tenant, IncidentState.OPEN);
    expect(warning).toMatchObject({
      kind: AlertKind.QUOTA,
      subjectId: 'warning',
      summary: '80 % of the 100 requests of this month are used',
    });
    await use(20);
    await waitUntil(async () => (await incidentsOf(tenant)).some(({ subjectId }) => subjectId === 'exceeded'), {
      what: 'the second incident',
    });
    const mails = await mailed(owner, 2);
    expect(mails.map(({ raw }) => readMail(raw).subject)).toEqual(Array(2).fill('Monthly quota · Acme & Söhne (live)'));
    expect((await incidentsOf(tenant)).map(({ state }) => state)).toEqual([IncidentState.OPEN, IncidentState.OPEN]);
  });

  test('a webhook that was disabled is told of, and recovers when it is enabled; deleted, it ends in silence', async () => {
    const { tenant, owner } = newOwner(Environment.SANDBOX);
    const [enabled, deleted] = [newId('wh'), newId('wh')];
    for (const id of [enabled, deleted, enabled]) await service.notify(tenant, 'webhook.disabled', id);
    const mails = await mailed(owner, 2);
    expect(readMail(mails[0]?.raw ?? '').text).toContain('its endpoint answered 410 Gone');
    await service.notify(tenant, 'webhook.enabled', enabled);
    await service.notify(tenant, 'webhook.deleted', deleted);
    await inState(tenant, IncidentState.RECOVERED);
    await mailed(owner, 3);
    const states = (await incidentsOf(tenant)).map(({ subjectId, state }) => [subjectId, state]);
    expect(new Map(states as [string, IncidentState][])).toEqual(
      new Map([
        [enabled, IncidentState.RECOVERED],
        [deleted, IncidentState.ENDED],
      ]),
    );
    expect(mailsTo(owner)).toHaveLength(3);
    // Disabled again within the day it is a new incident.
    await service.notify(tenant, 'webhook.disabled', enabled, Date.now() + 1);
    await mailed(owner, 4);
  });

  test('a key that expires within a week is told of once, and no more when it has been rolled', async () => {
    const { tenant, owner } = newOwner();
    const key = { workspaceId: tenant.workspaceId, environment: Environment.LIVE };
    const inDays = (days: number) => timestampFromMs(Date.now() + days * 86_400_000);
    service.auth.setKeys(
      { ...key, id: 'key_soon', name: 'nightly', expireTime: inDays(6) },
      { ...key, id: 'key_later', name: 'later', expireTime: inDays(8) },
      { ...key, id: 'key_rolled', name: 'rolled', expireTime: inDays(1), rollTime: inDays(0) },
      { ...key, id: 'key_never', name: 'never' },
    );
    const [mail] = await mailed(owner, 1);
    expect(readMail(mail?.raw ?? '').text).toContain('the API key "nightly" expires at');
    expect(await incidentsOf(tenant)).toMatchObject([{ subjectId: 'key_soon', kind: AlertKind.KEY_EXPIRY }]);
    service.auth.setKeys();
    await inState(tenant, IncidentState.RECOVERED);
  });

  test('a rule that is switched off ends its incident without a word, and opens none', async () => {
    const { tenant, owner } = newOwner();
    const kind = AlertKind.WEBHOOK_DISABLED;
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await mailed(owner, 1);
    await service.alerts.updateRule({ ...tenant, kind, enabled: false });
    await inState(tenant, IncidentState.ENDED);
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await looked(tenant);
    expect(await incidentsOf(tenant)).toHaveLength(1);
    expect(mailsTo(owner)).toHaveLength(1);
  });

  test('whoever unsubscribes gets no more mails of that rule, until a person with the right to says otherwise', async () => {
    const { tenant, owner } = newOwner();
    const kind = AlertKind.WEBHOOK_DISABLED;
    await service.alerts.updateRule({ ...tenant, kind, recipients: { addresses: ['ops@example.com'] } });
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    const [mail] = await mailed(owner, 1);
    const token = /unsubscribe\?token=([\w-]+)/.exec(readMail(mail?.raw ?? '').headers)?.[1] ?? '';
    const before = { address: owner, ...tenant, kind, unsubscribed: false };
    expect(await service.alerts.describeUnsubscribe({ token })).toMatchObject(before);
    await service.alerts.unsubscribe({ token });
    await service.alerts.unsubscribe({ token });
    expect(await service.alerts.describeUnsubscribe({ token })).toMatchObject({ ...before, unsubscribed: true });
    const { addresses } = await service.alerts.testRule({ ...tenant, kind });
    expect(addresses).toEqual(['ops@example.com']);
    expect((await service.alerts.testRule({ ...tenant, kind: AlertKind.QUOTA })).addresses).toEqual([owner]);
    const { rule } = await service.alerts.updateRule({ ...tenant, kind, unsubscribed: { addresses: [] } });
    expect(rule?.unsubscribed).toEqual([]);
    expect((await service.alerts.testRule({ ...tenant, kind })).addresses).toEqual(['ops@example.com', owner]);
    await expect(service.alerts.unsubscribe({ token: 'made up' })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('names and addresses of other people make neither headers nor HTML', async () => {
    const { tenant, owner } = newOwner();
    service.auth.addWorkspace(
      tenant.workspaceId,
      'Evil\r\nBcc: victim@example.com\r\n<script>alert(1)</script>',
      owner,
    );
    await service.notify(tenant, 'webhook.disabled', '"><img src=x onerror=alert(1)>');
    const [mail] = await mailed(owner, 1);
    expect(mail?.to).toEqual([owner]);
    const { headers } = readMail(mail?.raw ?? '');
    expect(headers).not.toMatch(/^Bcc:/im);
    const { text } = readMail(mail?.raw ?? '');
    expect(text.slice(text.indexOf('text/html'))).not.toMatch(/<script|<img/i);
  });

  test('auth being away delays mails, and loses none', async () => {
    const { tenant, owner } = newOwner();
    service.auth.away = true;
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await inState(tenant, IncidentState.OPEN);
    await waitUntil(() => service.logged.some((line) => line.includes('nobody could be told of an alert yet')), {
      what: 'the warning',
    });
    service.auth.away = false;
    await service.database.pool.query('update alerts.notifications set due_at = now()');
    await mailed(owner, 1);
  });

  test('of another workspace or environment incidents are not to be seen', async () => {
    const { tenant, owner } = newOwner();
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    await mailed(owner, 1);
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
