import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs, timestampNow } from '@bufbuild/protobuf/wkt';
import { migrations as auditMigrations } from '@rms/audit';
import { createInProcessBus } from '@rms/bus';
import { createPool } from '@rms/db';
import { newId } from '@rms/ids';
import { createMemoryLimiter } from '@rms/limiter';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import { createClient, loopbackOnly } from '@rms/rpc';
import { createLogger, createMetrics } from '@rms/service';
import { type TestDatabase, testDatabase, waitUntil } from '@rms/testkit';
import { noLatencies } from '@rms/usage';
import { type AlertsConfig, createAlerts } from '../src/index.ts';
import { readSmtpUrl } from '../src/mail/smtp.ts';
import { migrations } from '../src/migrations.ts';
import { FakeAuth } from './fake-auth.ts';

export type TestAlerts = Awaited<ReturnType<typeof startAlerts>>;

export interface StartOptions extends Partial<AlertsConfig> {
  /** A database for instances that share it. */
  readonly given?: TestDatabase;
  readonly auth?: FakeAuth;
  /** smtp://… of a server. */
  readonly smtpUrl?: string;
  readonly smtpCa?: Buffer;
  /** The time by which rules are looked at. */
  readonly now?: () => number;
}

export const alertsDatabase = () => testDatabase([auditMigrations, migrations]);

const noticeTopic = 'rms.notices.v1';

/** The real service on a real database, with an auth whose answers the test decides. */
export async function startAlerts(options: StartOptions = {}) {
  const { given, auth = new FakeAuth(), smtpUrl, smtpCa, now = Date.now, ...overrides } = options;
  const logged: string[] = [];
  const log = createLogger({ name: 'test', level: 'info', destination: { write: (line) => void logged.push(line) } });
  const database = given ?? (await alertsDatabase());
  const pool = createPool({ url: database.url, max: 8, applicationName: 'alerts', log });
  const memory = createMemoryLimiter({
    rateLimitRequests: 0,
    rateLimitWindowSeconds: 60,
    monthlyQuota: 0,
    authFailureLimit: 0,
  });
  const lost = new Set<() => void>();
  const limiter = {
    ...memory,
    onMarksLost(listener: () => void) {
      lost.add(listener);
      return () => lost.delete(listener);
    },
  };
  const bus = createInProcessBus({ log });
  const config: AlertsConfig = {
    host: '127.0.0.1',
    port: 0,
    metricsAddress: undefined,
    mailKeys: [Buffer.alloc(32, 1)],
    unsubscribeKeys: [Buffer.alloc(32, 2)],
    noticeTopic,
    group: 'rms-alerts',
    replication: 1,
    dashboardUrl: 'https://dashboard.example.com',
    sender: { name: 'rms', address: 'rms@example.com' },
    smtp: smtpUrl === undefined ? undefined : readSmtpUrl(smtpUrl, smtpCa),
    mailFolder: undefined,
    evaluateEveryMs: 100,
    sweepKeysEveryMs: 200,
    ...overrides,
  };
  const metrics = createMetrics('alerts');
  const service = createAlerts(config, { pool, bus, limiter, auth, log, metrics, now, security: loopbackOnly });
  await service.start();
  const target = { target: service.address, timeoutMs: 20_000 };
  const usage = createClient(UsageService, target);
  const alerts = createClient(AlertsService, target);
  const secrets = createClient(SecretsService, target);
  return {
    database,
    limiter,
    logged,
    auth,
    usage,
    alerts,
    secrets,
    /** As when Redis has restarted. */
    loseMarks() {
      for (const listener of lost) listener();
    },
    /** Publishes a notice as webhooks does; resolves when it is stored. */
    async notify(tenant: Tenant, type: string, subjectId: string, atMs = Date.now()) {
      const notice = {
        ...tenant,
        id: newId('ntc'),
        type,
        subjectId,
        reason: 'gone',
        createTime: timestampFromMs(atMs),
      };
      const value = toBinary(NoticeSchema, create(NoticeSchema, notice));
      const records = [{ key: tenant.workspaceId, value, headers: {} }];
      await bus.publish({ topic: noticeTopic, partition: 0, records }, AbortSignal.timeout(10_000));
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

/** Nobody else's. */
export function newTenant(environment = Environment.LIVE): Tenant {
  return { workspaceId: newId('ws'), environment };
}

/** Has the rules of a tenant looked at, and waits until they have been. */
export async function lookedAt({ pool }: TestDatabase, { workspaceId, environment }: Tenant): Promise<void> {
  const values = [workspaceId, environment === Environment.LIVE ? 'live' : 'sandbox'];
  const { rows } = await pool.query(
    `insert into alerts.watches (workspace_id, environment, due_at) values ($1, $2, now())
         on conflict (workspace_id, environment) do update set due_at = now() returning due_at::text as at`,
    values,
  );
  const later = 'select from alerts.watches where workspace_id = $1 and environment = $2 and due_at > $3::timestamptz';
  await waitUntil(async () => (await pool.query(later, [...values, rows[0].at])).rowCount === 1, { what: 'a look' });
}

/** Counts of requests as a gateway reports them; what is not given is 0. */
export function requestCounts<T extends object>(given: T) {
  const zeros = { requests: 0, admitted: 0, clientErrors: 0, serverErrors: 0, rateLimited: 0, quotaRefused: 0 };
  return { time: timestampNow(), ...bigints({ ...zeros, monthlyQuota: 1_000, ...given }), latencies };
}

/** Counts of deliveries as webhooks reports them. */
export function deliveryCounts<T extends object>(given: T & { attempts?: number; failedAttempts?: number }) {
  const zeros = { attempts: 0, failedAttempts: 0, delivered: 0, failed: 0 };
  return {
    time: timestampNow(),
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
