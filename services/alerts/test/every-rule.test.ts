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

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Counts, keys and notices as the other services report them, at a clock that the tests turn on. */
describe('Every kind of rule', () => {
  // The tenth of a month to come: no count is old, and days go by without the month ending.
  const today = new Date();
  let nowMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 10, 12);
  let smtp: SmtpReceiver;
  let service: TestAlerts;
  beforeAll(async () => {
    smtp = await startSmtpReceiver();
    service = await startAlerts({ smtpUrl: smtp.url, now: () => nowMs });
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
  const time = () => timestampFromMs(nowMs);
  const requests = (counts: object) => report({ requests: [{ ...requestCounts(counts), time: time() }] });
  const deliveries = (counts: object) => report({ deliveries: [{ ...deliveryCounts(counts), time: time() }] });
  const newOwner = () => {
    const tenant = newTenant();
    const owner = `owner-${tenant.workspaceId.slice(-8)}@example.com`;
    service.auth.addWorkspace(tenant.workspaceId, 'Acme', owner);
    return { tenant, owner };
  };
  const subjectsTo = (address: string) =>
    smtp
      .mails()
      .filter(({ to }) => to.includes(address))
      .map(({ raw }) => readMail(raw).subject.replace(' · Acme (live)', ''));
  const mailed = (address: string, subjects: readonly string[]) =>
    waitUntil(() => subjectsTo(address).length >= subjects.length, { what: subjects.join(', ') }).then(() =>
      expect(subjectsTo(address)).toEqual(subjects),
    );
  const incidentsOf = async (tenant: Tenant) =>
    (await service.alerts.listIncidents({ ...tenant, pageSize: 100 })).incidents;

  interface Way {
    readonly bad: (tenant: Tenant, subjectId: string) => unknown;
    /** It goes on as bad; default: by itself. */
    readonly stays?: (tenant: Tenant, subjectId: string) => unknown;
    readonly good: (tenant: Tenant, subjectId: string) => unknown;
  }
  /** What a window looks at is over after that, and all has been well for long enough after as much again. */
  const windowPasses = async (tenant: Tenant) => {
    nowMs += 20 * minuteMs;
    await lookedAt(service.database, tenant);
    nowMs += 6 * minuteMs;
  };
  const ways: readonly (readonly [title: string, kind: AlertKind, way: Way])[] = [
    [
      'API errors',
      AlertKind.API_ERROR_RATE,
      {
        bad: (tenant) => requests({ ...tenant, requests: 200, admitted: 200, clientErrors: 30, serverErrors: 10 }),
        stays: (tenant) => requests({ ...tenant, requests: 50, admitted: 50, serverErrors: 5 }),
        good: windowPasses,
      },
    ],
    [
      'Webhook deliveries fail',
      AlertKind.DELIVERY_FAILURE_RATE,
      {
        bad: (tenant, webhookId) =>
          deliveries({ ...tenant, webhookId, attempts: 20, failedAttempts: 10, failuresAtEnd: 0, delivered: 10 }),
        stays: (tenant, webhookId) =>
          deliveries({ ...tenant, webhookId, attempts: 20, failedAttempts: 20, failuresAtEnd: 0 }),
        good: windowPasses,
      },
    ],
    [
      'Webhook deliveries fail',
      AlertKind.DELIVERY_FAILURES_IN_A_ROW,
      {
        bad: (tenant, webhookId) => deliveries({ ...tenant, webhookId, attempts: 3, failedAttempts: 3 }),
        stays: (tenant, webhookId) => deliveries({ ...tenant, webhookId, attempts: 1, failedAttempts: 1 }),
        good: (tenant, webhookId) => deliveries({ ...tenant, webhookId, attempts: 1, delivered: 1 }),
      },
    ],
    [
      'A webhook was disabled',
      AlertKind.WEBHOOK_DISABLED,
      {
        bad: (tenant, webhookId) => service.notify(tenant, 'webhook.disabled', webhookId, nowMs),
        good: (tenant, webhookId) => service.notify(tenant, 'webhook.enabled', webhookId, nowMs),
      },
    ],
    [
      'Requests are refused by the rate limit',
      AlertKind.RATE_LIMITED,
      {
        bad: (tenant) => requests({ ...tenant, requests: 50, clientErrors: 50, rateLimited: 50 }),
        stays: (tenant) => requests({ ...tenant, requests: 60, clientErrors: 60, rateLimited: 60 }),
        good: windowPasses,
      },
    ],
    [
      'An API key expires soon',
      AlertKind.KEY_EXPIRY,
      {
        bad: ({ workspaceId }, id) =>
          service.auth.setKeys({
            ...{ id, workspaceId, environment: Environment.LIVE, name: 'nightly' },
            expireTime: timestampFromMs(nowMs + 6.9 * 24 * hourMs),
          }),
        good: () => service.auth.setKeys(),
      },
    ],
    [
      'Monthly quota',
      AlertKind.QUOTA,
      {
        bad: (tenant) => requests({ ...tenant, requests: 80, admitted: 80, monthlyQuota: 100 }),
        good: () => {
          const now = new Date(nowMs);
          nowMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 0, 1);
        },
      },
    ],
  ];

  test('is here', () => {
    const kinds = Object.values(AlertKind).filter((kind) => typeof kind === 'number' && kind !== 0);
    expect(new Set(ways.map(([, kind]) => kind))).toEqual(new Set(kinds));
  });

  test.each(ways)('%s (%s): one mail, one more a day later, one when it is over', async (title, kind, way) => {
    const { tenant, owner } = newOwner();
    const subjectId = newId('wh');
    const looked = () => lookedAt(service.database, tenant);
    await way.bad(tenant, subjectId);
    await mailed(owner, [title]);

    nowMs += 23 * hourMs;
    await way.stays?.(tenant, subjectId);
    await looked();
    expect(await incidentsOf(tenant)).toMatchObject([{ kind, state: IncidentState.OPEN, notices: 1 }]);
    nowMs += 2 * hourMs;
    await way.stays?.(tenant, subjectId);
    await looked();
    await mailed(owner, [title, `Still: ${title}`]);

    await way.good(tenant, subjectId);
    await waitUntil(
      async () => {
        await looked();
        return (await incidentsOf(tenant))[0]?.state === IncidentState.RECOVERED;
      },
      { what: 'the end of it' },
    );
    await mailed(owner, [title, `Still: ${title}`, `Recovered: ${title}`]);
    expect(await incidentsOf(tenant)).toMatchObject([{ kind, state: IncidentState.RECOVERED, notices: 2 }]);
    expect(await incidentsOf({ ...tenant, environment: Environment.SANDBOX })).toEqual([]);
  });

  test('what goes up and down all the time makes a handful of mails, the last of which says that it is over', async () => {
    const { tenant, owner } = newOwner();
    const webhookId = newId('wh');
    const title = 'Webhook deliveries fail';
    for (let minute = 0; minute < 60; minute += 2) {
      await deliveries({ ...tenant, webhookId, attempts: 3, failedAttempts: 3 });
      await lookedAt(service.database, tenant);
      nowMs += minuteMs;
      await deliveries({ ...tenant, webhookId, attempts: 1, delivered: 1 });
      await lookedAt(service.database, tenant);
      nowMs += minuteMs;
    }
    nowMs += 20 * minuteMs;
    await lookedAt(service.database, tenant);
    // The share of attempts that failed is a rule of its own, told of under the same title.
    const rules = (await incidentsOf(tenant)).map(({ kind, state }) => [kind, state]);
    const [row, share] = [AlertKind.DELIVERY_FAILURES_IN_A_ROW, AlertKind.DELIVERY_FAILURE_RATE];
    expect(rules.filter(([kind]) => kind === row)).toEqual([
      [row, IncidentState.RECOVERED],
      [row, IncidentState.RECOVERED],
    ]);
    expect(rules.filter(([kind]) => kind === share)).toHaveLength(1);
    await waitUntil(() => subjectsTo(owner).filter((subject) => subject === `Recovered: ${title}`).length >= 2, {
      what: 'both recoveries',
    });
    expect(subjectsTo(owner).filter((subject) => subject === title)).toHaveLength(3);
    expect(subjectsTo(owner).length).toBeLessThanOrEqual(6);
  });

  test('what happens in the sandbox opens nothing in live, and is told of as the sandbox', async () => {
    const { tenant, owner } = newOwner();
    const sandbox = { ...tenant, environment: Environment.SANDBOX };
    await requests({ ...sandbox, requests: 100, admitted: 100, serverErrors: 100 });
    await requests({ ...tenant, requests: 100, admitted: 100 });
    await lookedAt(service.database, sandbox);
    await lookedAt(service.database, tenant);
    await mailed(owner, ['API errors · Acme (sandbox)']);
    expect(await incidentsOf(tenant)).toEqual([]);
    expect(await incidentsOf(sandbox)).toMatchObject([{ kind: AlertKind.API_ERROR_RATE }]);
  });
});
