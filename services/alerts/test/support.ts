import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs, timestampNow } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { createInProcessBus } from '@rms/bus';
import { createMemoryLimiter } from '@rms/limits';
import { migrations as auditMigrations } from '@rms/postgres/audit';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { type ReportUsageRequestSchema, UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import { noLatencies } from '@rms/reporting/usage';
import { createClient, loopbackOnly } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { noLimits, type TestDatabase, testDatabase, testPool, waitUntil } from '@rms/testkit';
import { readSmtpUrl, type SmtpOptions } from '../src/email/smtp.ts';
import { type AlertsConfig, createAlerts } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';
import { FakeAuth } from './fake-auth.ts';

export type TestAlerts = Awaited<ReturnType<typeof startAlerts>>;

export interface StartOptions extends Partial<AlertsConfig> {
  /** A database that several instances share. */
  readonly given?: TestDatabase;
  readonly auth?: FakeAuth;
  /** URL of an SMTP server. */
  readonly smtpUrl?: string;
  readonly smtpCa?: Buffer;
  /** Clock for rule evaluation. */
  readonly now?: () => number;
}

/** Returns the options of an SMTP server with their defaults. */
export function smtpOptions(options: Partial<SmtpOptions> = {}): SmtpOptions {
  return { ca: undefined, tls: 'opportunistic', ehloName: 'rms.example.com', ...options };
}

export const alertsDatabase = () => testDatabase([auditMigrations, migrations]);

/** URL of every webhook. */
export const webhookUrl = 'https://hooks.example.com/orders?key=1';

const noticeTopic = 'rms.notices.v1';

/** Starts the alerts service on a PostgreSQL database with a fake auth service. */
export async function startAlerts(options: StartOptions = {}) {
  const { given, auth = new FakeAuth(), smtpUrl, smtpCa, now = Date.now, ...overrides } = options;
  const logged: string[] = [];
  let reports = 0n;
  const log = createLogger({ name: 'test', level: 'info', destination: { write: (line) => void logged.push(line) } });
  const database = given ?? (await alertsDatabase());
  const pool = testPool({ url: database.url, max: 8, applicationName: 'alerts', log });
  const memory = createMemoryLimiter(noLimits);
  const lost = new Set<() => void>();
  const limiter = {
    ...memory,
    onMarkersLost(listener: () => void) {
      lost.add(listener);
      return () => lost.delete(listener);
    },
  };
  const bus = createInProcessBus({ log });
  const smtpConfig = readSmtpUrl(smtpUrl ?? 'smtp://127.0.0.1', smtpOptions({ ca: smtpCa }));
  const config: AlertsConfig = {
    host: '127.0.0.1',
    port: 0,
    metricsAddress: undefined,
    encryptionKeys: [Buffer.alloc(32, 1)],
    unsubscribeKeys: [Buffer.alloc(32, 2)],
    pageTokenKeys: [Buffer.alloc(32, 3)],
    noticeTopic,
    group: 'rms-alerts',
    replication: 1,
    dashboardUrl: 'https://dashboard.example.com',
    sender: { name: 'rms', address: 'rms@example.com' },
    smtp: smtpUrl === undefined ? undefined : () => smtpConfig,
    emailFolder: undefined,
    egress: { allowHttp: true, allowCidrs: ['127.0.0.0/8'] },
    pagerDutyUrl: 'http://127.0.0.1:47999/v2/enqueue',
    evaluateEveryMs: 100,
    sweepKeysEveryMs: 200,
    pollMs: 50,
    gatherMs: 0,
    ...overrides,
  };
  const metrics = createMetrics('alerts');
  const service = createAlerts(config, { pool, bus, limiter, auth, log, metrics, now, security: loopbackOnly });
  await service.start();
  const target = { target: service.address, timeoutMs: 60_000 };
  const usage = createClient(UsageService, target);
  const alerts = createClient(AlertsService, target);
  const secrets = createClient(SecretsService, target);
  return {
    address: service.address,
    database,
    limiter,
    logged,
    auth,
    usage,
    alerts,
    secrets,
    /** Reports counts as the same reporter. */
    report(parts: MessageInitShape<typeof ReportUsageRequestSchema>) {
      reports += 1n;
      return usage.reportUsage({ reporterId: 'test', sequence: reports, ...parts });
    },
    /** Creates a workspace with a unique owner address, so that its emails can be identified. */
    newOwner(environment = Environment.LIVE, name = 'Acme') {
      const tenant = newTenant(environment);
      const owner = `owner-${tenant.workspaceId.slice(-8)}@example.com`;
      auth.addWorkspace(tenant.workspaceId, name, owner);
      return { tenant, owner };
    },
    /** Creates a workspace with this owner address. */
    newWorkspace(owner: string): Tenant {
      const tenant = newTenant();
      auth.addWorkspace(tenant.workspaceId, 'Acme', owner);
      return tenant;
    },
    /** Simulates a restart of Redis. */
    loseMarkers() {
      for (const listener of lost) listener();
    },
    /** Publishes a notice as the webhooks service does. Resolves when it is stored. */
    async notify(tenant: Tenant, type: string, subjectId: string, { atMs = Date.now(), sequence = 0n } = {}) {
      const notice = {
        ...tenant,
        id: newId('ntc'),
        type,
        subjectId,
        reason: 'gone',
        url: webhookUrl,
        createTime: timestampFromMs(atMs),
        sequence,
      };
      const value = toBinary(NoticeSchema, create(NoticeSchema, notice));
      const records = [{ key: tenant.workspaceId, value, headers: {} }];
      await bus.publish({ topic: noticeTopic, partition: 0, records }, AbortSignal.timeout(60_000));
    },
    async stop() {
      usage.close();
      alerts.close();
      secrets.close();
      await service.stop();
      if (!given) await database.drop();
    },
  };
}

export interface Tenant {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** Returns a new workspace ID with an environment. */
export function newTenant(environment = Environment.LIVE): Tenant {
  return { workspaceId: newId('ws'), environment };
}

/** Schedules an evaluation of a tenant's rules, and waits until it is done. */
export async function waitForEvaluation({ pool }: TestDatabase, { workspaceId, environment }: Tenant): Promise<void> {
  const values = [workspaceId, environment === Environment.LIVE ? 'live' : 'sandbox'];
  const { rows } = await pool.query(
    `insert into alerts.evaluations (workspace_id, environment, due_at) values ($1, $2, now())
         on conflict (workspace_id, environment) do update set due_at = now() returning due_at::text as at`,
    values,
  );
  const later =
    'select from alerts.evaluations where workspace_id = $1 and environment = $2 and due_at > $3::timestamptz';
  await waitUntil(async () => (await pool.query(later, [...values, rows[0].at])).rowCount === 1, {
    what: 'the evaluation',
  });
}

/** Returns request counts as a gateway reports them. Missing counts are 0. */
export function requestCounts<T extends object>(given: T) {
  const zeros = { requests: 0, admitted: 0, clientErrors: 0, serverErrors: 0, rateLimited: 0, quotaRefused: 0 };
  return { time: timestampNow(), ...bigints({ ...zeros, monthlyQuota: 1_000, ...given }), latencies };
}

/** Returns delivery counts as the webhooks service reports them. */
export function deliveryCounts<T extends object>(given: T & { attempts?: number; failedAttempts?: number }) {
  const zeros = { attempts: 0, failedAttempts: 0, delivered: 0, failed: 0 };
  return {
    time: timestampNow(),
    url: webhookUrl,
    ...bigints({ ...zeros, failuresAtEnd: given.failedAttempts ?? 0, ...given }),
    latencies,
  };
}

const latencies = noLatencies().map(BigInt);

function bigints<T extends object>(given: T) {
  const entries = Object.entries(given).map(([name, value]) => [
    name,
    typeof value === 'number' && name !== 'environment' ? BigInt(value) : value,
  ]);
  return Object.fromEntries(entries) as {
    [Name in keyof T]: Name extends 'environment' ? T[Name] : T[Name] extends number ? bigint : T[Name];
  };
}
