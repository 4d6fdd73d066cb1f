import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { signatureHeaders, toSigningSecret } from '@rms/base/signature';
import { AlertKind, ChannelType, type Incident, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import {
  disposable,
  type ReceivedRequest,
  type Receiver,
  type SmtpReceiver,
  startReceiver,
  startSmtpReceiver,
  waitUntil,
} from '@rms/testkit';
import { emailsTo, readEmail } from './read-email.ts';
import { newTenant, startAlerts, type Tenant, type TestAlerts, waitForEvaluation } from './support.ts';

const kind = AlertKind.WEBHOOK_DISABLED;
const routingKey = 'r0utingkey-of-a-service';

interface PagerDutyEvent {
  readonly routing_key: string;
  readonly event_action: string;
  readonly dedup_key: string;
  readonly payload?: { readonly summary: string; readonly severity: string };
}

describe('Channels', () => {
  let nowMs = Date.now();
  let smtp: SmtpReceiver;
  let pagerDuty: Receiver;
  let service: TestAlerts;
  beforeAll(async () => {
    [smtp, pagerDuty] = [await startSmtpReceiver(), await startReceiver({ path: '/v2/enqueue' })];
    pagerDuty.respondWith(202);
    // Notifications become due when the tests say so.
    service = await startAlerts({
      ...{ smtpUrl: smtp.url, pagerDutyUrl: pagerDuty.url, now: () => nowMs, gatherMs: 3_600_000 },
    });
  });
  afterAll(async () => {
    await service?.stop();
    await Promise.all([smtp?.stop(), pagerDuty?.close()]);
  });

  const newOwner = () => {
    const tenant = newTenant();
    const owner = `owner-${tenant.workspaceId.slice(-8)}@example.com`;
    service.auth.addWorkspace(tenant.workspaceId, 'Acme', owner);
    return { tenant, owner };
  };
  const create = async (tenant: Tenant, fields: object) =>
    (await service.alerts.createChannel({ ...tenant, name: 'On-call', ...fields })).channel?.id ?? '';
  const report = (tenant: Tenant, ...ids: string[]) =>
    service.alerts.updateRule({ ...tenant, kind, channels: { ids } });
  /** Makes the pending notifications due, and waits until they have been processed. */
  const elapse = async ({ workspaceId }: Tenant) => {
    const { pool } = service.database;
    await pool.query('update alerts.notifications set due_at = now() where workspace_id = $1', [workspaceId]);
    const pending = () => pool.query('select from alerts.notifications where workspace_id = $1', [workspaceId]);
    await waitUntil(async () => (await pending()).rowCount === 0, { what: 'the notifications to be processed' });
  };
  const makeDue = ({ workspaceId }: Tenant) =>
    service.database.pool.query(
      `update alerts.channel_messages set due_at = now() where workspace_id = $1 and state = 'queued'`,
      [workspaceId],
    );
  const disable = async (tenant: Tenant, ...webhookIds: string[]) => {
    for (const id of webhookIds) await service.notify(tenant, 'webhook.disabled', id, { atMs: nowMs });
    await waitForEvaluation(service.database, tenant);
  };
  const enable = async (tenant: Tenant, ...webhookIds: string[]) => {
    for (const id of webhookIds) await service.notify(tenant, 'webhook.enabled', id, { atMs: nowMs });
    await waitForEvaluation(service.database, tenant);
  };
  const incidentOf = async (tenant: Tenant, subjectId: string) =>
    (await service.alerts.listIncidents({ ...tenant, subjectId, pageSize: 1 })).incidents[0] as Incident;
  const pagesOf = (key: string) =>
    pagerDuty.requests.map(({ json }) => json as PagerDutyEvent).filter((event) => event.routing_key === key);
  const paged = (key: string, count: number) =>
    waitUntil(() => (pagesOf(key).length >= count ? pagesOf(key) : undefined), { what: `${count} pages` });
  const subjectsTo = (address: string) => emailsTo(smtp, address).map(({ subject }) => subject);
  const emailed = (address: string, count: number) =>
    waitUntil(() => (subjectsTo(address).length >= count ? subjectsTo(address) : undefined), {
      what: `${count} emails`,
    });
  const signed = (request: ReceivedRequest, secret: string) => {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp } = request.headers;
    const secrets = { current: toSigningSecret(secret), previous: undefined };
    return signatureHeaders(secrets, String(id), request.body, Number(timestamp) * 1_000);
  };

  test('a storm of 50 webhooks is one message per channel, and its recovery another about the same incidents', async () => {
    const { tenant, owner } = newOwner();
    const key = newId('ntf').slice(4);
    const [slack, hook] = [await startReceiver({ path: '/slack' }), await startReceiver({ path: '/alerts' })];
    const created = await service.alerts.createChannel({
      ...tenant,
      ...{ name: 'Bot', type: ChannelType.WEBHOOK, url: hook.url },
    });
    await report(
      tenant,
      await create(tenant, { type: ChannelType.PAGERDUTY, routingKey: key }),
      await create(tenant, { type: ChannelType.SLACK, url: slack.url }),
      created.channel?.id ?? '',
    );
    const webhookIds = Array.from({ length: 50 }, () => newId('wh'));
    await disable(tenant, ...webhookIds);
    await elapse(tenant);
    const [trigger] = await paged(key, 1);
    expect(trigger).toMatchObject({
      event_action: 'trigger',
      payload: { summary: 'Webhook disabled: 50 webhooks · Acme (live)', severity: 'critical' },
    });
    const inSlack = await slack.waitFor(() => true, 'the message in Slack');
    expect(inSlack.json).toMatchObject({ text: 'Webhook disabled: 50 webhooks · Acme (live)' });
    const atHook = await hook.waitFor(() => true, 'the signed message');
    expect(atHook.json).toMatchObject({
      type: 'incident.opened',
      data: { kind: 'webhook_disabled', report_id: trigger?.dedup_key },
    });
    expect((atHook.json as { data: { incidents: object[] } }).data.incidents).toHaveLength(50);
    expect(atHook.headers).toMatchObject(signed(atHook, created.secret));
    const title = 'Webhook disabled: 50 webhooks · Acme (live)';
    expect(await emailed(owner, 1)).toEqual([title]);

    // One recovers, then the others. PagerDuty resolves its alert when all have.
    const [first = '', ...others] = webhookIds;
    await enable(tenant, first);
    await elapse(tenant);
    expect(await emailed(owner, 2)).toEqual([title, `Partly recovered: ${title}`]);
    await enable(tenant, ...others);
    await elapse(tenant);
    const emails = await emailed(owner, 3);
    expect(emails.at(-1)).toBe(`Recovered: ${title}`);
    const [opened, ...replies] = smtp.emails().filter(({ to }) => to.includes(owner));
    const messageId = /^Message-ID: (<.+>)$/im.exec(readEmail(opened?.raw ?? '').headers)?.[1];
    expect(messageId).toBeDefined();
    for (const { raw } of replies) expect(readEmail(raw).headers).toContain(`In-Reply-To: ${messageId}`);
    const pages = await paged(key, 2);
    expect(pages.map(({ event_action: action, dedup_key: report }) => [action, report])).toEqual([
      ['trigger', trigger?.dedup_key],
      ['resolve', trigger?.dedup_key],
    ]);
    await hook.waitFor(({ json }) => (json as { type: string }).type === 'incident.recovered', 'the recovery');
    const { rows } = await service.database.pool.query('select content from alerts.channel_messages');
    expect(rows.every(({ content }) => content === null || !content.includes(key))).toBe(true);
    await Promise.all([slack.close(), hook.close()]);
  });

  test('an acknowledged incident gets no reminder, but its recovery; PagerDuty learns of both', async () => {
    const { tenant, owner } = newOwner();
    const key = newId('ntf').slice(4);
    await report(tenant, await create(tenant, { type: ChannelType.PAGERDUTY, routingKey: key }));
    const [handled, other] = [newId('wh'), newId('wh')];
    await disable(tenant, handled);
    await elapse(tenant);
    await paged(key, 1);
    const { id } = await incidentOf(tenant, handled);
    const by = { context: { actor: 'user:usr_1' } };
    for (let i = 0; i < 2; i += 1) await service.alerts.acknowledgeIncident({ ...tenant, id }, by);
    expect(await incidentOf(tenant, handled)).toMatchObject({ acknowledgedBy: 'user:usr_1' });
    await disable(tenant, other);
    await elapse(tenant);
    nowMs += 25 * 3_600_000;
    await waitForEvaluation(service.database, tenant);
    await elapse(tenant);
    const title = 'Webhook disabled: hooks.example.com/orders?key=1';
    expect((await emailed(owner, 3)).sort()).toEqual(
      [`${title} · Acme (live)`, `${title} · Acme (live)`, `Ongoing: ${title} · Acme (live)`].sort(),
    );
    await enable(tenant, handled);
    await elapse(tenant);
    await emailed(owner, 4);
    const pages = await paged(key, 4);
    expect(pages.map(({ event_action: action }) => action)).toEqual(['trigger', 'acknowledge', 'trigger', 'resolve']);
    await expect(service.alerts.acknowledgeIncident({ ...tenant, id })).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a muted incident gets no message, also none about its recovery; PagerDuty resolves its alert', async () => {
    const { tenant, owner } = newOwner();
    const key = newId('ntf').slice(4);
    const hook = await startReceiver();
    await report(
      tenant,
      await create(tenant, { type: ChannelType.PAGERDUTY, routingKey: key }),
      await create(tenant, { type: ChannelType.WEBHOOK, url: hook.url }),
    );
    const webhookId = newId('wh');
    await disable(tenant, webhookId);
    await elapse(tenant);
    await emailed(owner, 1);
    const { id } = await incidentOf(tenant, webhookId);
    const untilIn = (days: number) => ({ untilTime: timestampFromMs(Date.now() + days * 86_400_000) });
    for (const days of [-1, 31]) {
      await expect(service.alerts.muteIncident({ ...tenant, id, ...untilIn(days) })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
    await service.alerts.muteIncident({ ...tenant, id, ...untilIn(29) });
    await enable(tenant, webhookId);
    await elapse(tenant);
    expect((await paged(key, 2)).map(({ event_action: action }) => action)).toEqual(['trigger', 'resolve']);
    expect([subjectsTo(owner).length, hook.requests.length]).toEqual([1, 1]);
    await hook.close();
  });

  test('PagerDuty resolves the alert of a webhook that is deleted', async () => {
    const { tenant } = newOwner();
    const key = newId('ntf').slice(4);
    await report(tenant, await create(tenant, { type: ChannelType.PAGERDUTY, routingKey: key }));
    const webhookId = newId('wh');
    await disable(tenant, webhookId);
    await elapse(tenant);
    await paged(key, 1);
    await service.notify(tenant, 'webhook.deleted', webhookId, { atMs: nowMs });
    const [trigger, resolve] = await paged(key, 2);
    expect([resolve?.event_action, resolve?.dedup_key]).toEqual(['resolve', trigger?.dedup_key]);
    expect(await incidentOf(tenant, webhookId)).toMatchObject({ state: IncidentState.ENDED });
  });

  test('PagerDuty has one alert for a webhook that fails again before its recovery is reported', async () => {
    const { tenant } = newOwner();
    const key = newId('ntf').slice(4);
    await report(tenant, await create(tenant, { type: ChannelType.PAGERDUTY, routingKey: key }));
    const webhookId = newId('wh');
    await disable(tenant, webhookId);
    await elapse(tenant);
    await paged(key, 1);
    await enable(tenant, webhookId);
    nowMs += 1;
    await disable(tenant, webhookId);
    await elapse(tenant);
    const again = await incidentOf(tenant, webhookId);
    expect(again.state).toBe(IncidentState.OPEN);
    await enable(tenant, webhookId);
    nowMs += 3_600_000;
    await waitUntil(
      async () => {
        await waitForEvaluation(service.database, tenant);
        return (await incidentOf(tenant, webhookId)).state === IncidentState.RECOVERED;
      },
      { what: 'the recovery' },
    );
    await elapse(tenant);
    const [trigger, ...others] = await paged(key, 2);
    expect(others.map(({ event_action: action, dedup_key: name }) => [action, name])).toEqual([
      ['resolve', trigger?.dedup_key],
    ]);
  });

  test('a message is retried while the receiver fails, and later ones about the same incident wait for it', async () => {
    const { tenant } = newOwner();
    const hook = await startReceiver();
    hook.respondWith(500);
    await report(tenant, await create(tenant, { type: ChannelType.WEBHOOK, url: hook.url }));
    const webhookId = newId('wh');
    await disable(tenant, webhookId);
    await elapse(tenant);
    await hook.waitFor(() => true, 'the first attempt');
    await enable(tenant, webhookId);
    await elapse(tenant);
    const errors = async () =>
      (
        await service.database.pool.query<{ last_error: string }>(
          'select last_error from alerts.channel_messages where workspace_id = $1 order by id',
          [tenant.workspaceId],
        )
      ).rows.map((row) => row.last_error);
    await waitUntil(async () => (await errors()).every((error) => error !== ''), { what: 'both failures' });
    expect(await errors()).toEqual(['status: 500', 'an earlier message about the same incidents is not sent yet']);
    hook.respondWith(200);
    const types = () => hook.requests.map(({ json }) => (json as { type: string }).type);
    await waitUntil(
      async () => {
        await makeDue(tenant);
        return types().includes('incident.recovered');
      },
      { what: 'the recovery' },
    );
    expect(new Set(types().slice(0, -1))).toEqual(new Set(['incident.opened']));
    const ids = hook.requests.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
    await hook.close();
  });

  test('an email channel adds recipients, who confirm unless they are members', async () => {
    const { tenant, owner } = newOwner();
    const outside = 'ops@partner.example';
    const channel = await create(tenant, { type: ChannelType.EMAIL, addresses: ['viewer@example.com', outside] });
    await report(tenant, channel);
    await waitUntil(() => subjectsTo(outside).length === 1, { what: 'the request to confirm' });
    expect(subjectsTo(outside)).toEqual(['Confirm alert emails from Acme']);
    const before = subjectsTo('viewer@example.com').length;
    await disable(tenant, newId('wh'));
    await elapse(tenant);
    await emailed(owner, 1);
    await emailed('viewer@example.com', before + 1);
    expect(subjectsTo(outside)).toHaveLength(1);
    const { delivered, emails } = await service.alerts.testChannel({ ...tenant, id: channel });
    expect([delivered, emails.map(({ address }) => address)]).toEqual([true, ['viewer@example.com']]);
  });

  test('a Slack channel gets the text and the blocks of a message', async () => {
    const { tenant } = newOwner();
    await using slack = disposable(await startReceiver());
    const id = await create(tenant, { type: ChannelType.SLACK, url: slack.url });
    expect(await service.alerts.testChannel({ ...tenant, id })).toMatchObject({ delivered: true, statusCode: 200 });
    expect(slack.requests.map(({ json }) => json)).toEqual([
      {
        text: 'Test: alert channel On-call · Acme (live)',
        blocks: [
          { type: 'header', text: { type: 'plain_text', text: 'Test: alert channel On-call · Acme (live)' } },
          {
            type: 'context',
            elements: [{ type: 'mrkdwn', text: expect.stringMatching(/^<https:.*\|View all alerts>$/) }],
          },
        ],
      },
    ]);
  });

  test('a test returns the outcome of one attempt, and takes effect once per idempotency key', async () => {
    const { tenant } = newOwner();
    const slack = await startReceiver();
    slack.respondWith((_, response) => void response.writeHead(404).end('no_service'));
    const id = await create(tenant, { type: ChannelType.SLACK, url: slack.url });
    const test = () => service.alerts.testChannel({ ...tenant, id, idempotencyKey: 'once' });
    const outcome = { delivered: false, statusCode: 404, error: 'status: 404', responseBody: 'no_service' };
    expect(await test()).toMatchObject({ ...outcome, replayed: false });
    expect(await test()).toMatchObject({ ...outcome, replayed: true });
    expect(slack.requests).toHaveLength(1);
    const page = await create(tenant, { type: ChannelType.PAGERDUTY, routingKey });
    expect(await service.alerts.testChannel({ ...tenant, id: page })).toMatchObject({ delivered: true });
    expect(pagesOf(routingKey).map(({ event_action: action }) => action)).toEqual(['trigger', 'resolve']);
    await slack.close();
  });

  test.each([
    ['a URL that is not permitted', { type: ChannelType.WEBHOOK, url: 'http://10.0.0.1/x' }, 'url'],
    ['a URL of a metadata service', { type: ChannelType.SLACK, url: 'http://169.254.169.254/latest' }, 'url'],
    ['another scheme', { type: ChannelType.WEBHOOK, url: 'file:///etc/passwd' }, 'url'],
    ['a field of another type', { type: ChannelType.PAGERDUTY, routingKey, url: 'https://example.com' }, 'url'],
    ['no destination', { type: ChannelType.EMAIL }, 'addresses'],
    ['an invalid routing key', { type: ChannelType.PAGERDUTY, routingKey: 'a b\r\nc' }, 'routing_key'],
    ['an invalid address', { type: ChannelType.EMAIL, addresses: ['a@b\r\nBcc: c@d'] }, 'addresses'],
    ['no type', { url: 'https://example.com' }, 'type'],
  ])('%s is rejected', async (_, fields, field) => {
    const { tenant } = newOwner();
    await expect(create(tenant, fields)).rejects.toMatchObject({
      code: 'invalid_request',
      details: [expect.objectContaining({ field })],
    });
  });

  test('a rule names only channels of its own environment, and a deleted channel is removed from it', async () => {
    const { tenant } = newOwner();
    const id = await create(tenant, { type: ChannelType.PAGERDUTY, routingKey });
    const stranger = newOwner().tenant;
    await expect(report(stranger, id)).rejects.toMatchObject({ code: 'invalid_request' });
    for (const call of [
      () => service.alerts.getChannel({ ...stranger, id }),
      () => service.alerts.updateChannel({ ...stranger, id, name: 'Mine' }),
      () => service.alerts.testChannel({ ...stranger, id }),
      () => service.alerts.deleteChannel({ ...stranger, id }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    }
    await report(tenant, id);
    const { channel } = await service.alerts.updateChannel({ ...tenant, id, name: 'New', expectedVersions: [1n] });
    expect(channel).toMatchObject({ name: 'New', version: 2n, hint: '…vice' });
    await expect(service.alerts.deleteChannel({ ...tenant, id, expectedVersions: [1n] })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    await service.alerts.deleteChannel({ ...tenant, id, expectedVersions: [2n] });
    const { rule } = await service.alerts.getRule({ ...tenant, kind });
    expect(rule?.channelIds).toEqual([]);
  });

  test('secrets are stored encrypted and appear in no log', async () => {
    const { tenant } = newOwner();
    await create(tenant, { type: ChannelType.PAGERDUTY, routingKey });
    const { rows } = await service.database.pool.query<{ row: string }>(
      'select c::text as row from alerts.channels as c where workspace_id = $1',
      [tenant.workspaceId],
    );
    expect(rows.some(({ row }) => row.includes(routingKey))).toBe(false);
    expect(service.logged.some((line) => line.includes(routingKey))).toBe(false);
  });
});
