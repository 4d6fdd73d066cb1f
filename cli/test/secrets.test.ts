import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAlerts, createAlertsContext, readAlertsConfig } from '@rms/alerts';
import { migrations as alertsMigrations } from '@rms/alerts/migrations';
import { createAuth, createAuthContext, readAuthConfig } from '@rms/auth';
import { migrations as authMigrations } from '@rms/auth/migrations';
import { newId } from '@rms/base/ids';
import { createInProcessBus } from '@rms/bus';
import { createMemoryLimiter } from '@rms/limits';
import { migrations as auditMigrations } from '@rms/postgres/audit';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient, type GrpcService } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { type Outcome, type TestDatabase, testDatabase, testPool, waitUntil } from '@rms/testkit';
import { createWebhooks, createWebhooksContext, readWebhooksConfig } from '@rms/webhooks';
import { migrations as webhookMigrations } from '@rms/webhooks/migrations';
import { runRms } from './support.ts';

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const [lost, old, current] = [keyOf(1), keyOf(2), keyOf(3)];

describe('rms secrets rotate', () => {
  const log = createLogger({ name: 'test', level: 'silent' });
  const workspaceId = newId('ws');
  let dataDir: string;
  let database: TestDatabase;
  let service: GrpcService | undefined;
  let auth: GrpcService | undefined;
  let alerts: GrpcService | undefined;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'rms-cli-'));
    database = await testDatabase([auditMigrations, authMigrations, webhookMigrations, alertsMigrations]);
  });
  afterEach(async () => {
    await stopAll();
    await database.drop();
    rmSync(dataDir, { recursive: true });
  });

  const stopAll = async () => {
    await Promise.all([service?.stop(), auth?.stop(), alerts?.stop()]);
    service = undefined;
    auth = undefined;
    alerts = undefined;
  };

  /** Restarts all services that encrypt data with these keys. */
  const start = async (ENCRYPTION_KEY: string, ...previous: string[]) => {
    await stopAll();
    const settings = readSettings({
      ENCRYPTION_KEY,
      ENCRYPTION_KEY_PREVIOUS: previous.join(','),
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    });
    const newPool = () => testPool({ url: database.url, max: 5, applicationName: 'cli-test', log });
    const pools = { pool: newPool(), keyedPool: newPool() };
    const bus = createInProcessBus({ log });
    service = createWebhooks(
      readWebhooksConfig(settings),
      createWebhooksContext(settings, { ...pools, bus, log, operational: {} }),
    );
    await service.start();
    const limits = {
      rateLimitRequests: 0,
      workspaceRateLimitRequests: 0,
      rateLimitWindowSeconds: 60,
      monthlyQuota: 0,
      authFailureLimit: 0,
    };
    const parts = { pool: newPool(), limiter: createMemoryLimiter(limits), log };
    auth = createAuth(readAuthConfig(settings), createAuthContext(settings, parts));
    await auth.start();
    const alertsSettings = { ...settings, AUTH_ADDRESS: auth.address };
    const alertsParts = {
      pool: newPool(),
      bus: createInProcessBus({ log }),
      limiter: createMemoryLimiter(limits),
      log,
    };
    alerts = createAlerts(readAlertsConfig(alertsSettings), createAlertsContext(alertsSettings, alertsParts));
    await alerts.start();
  };
  /** Creates an invitation email that alerts has encrypted and that stays queued, because there is no SMTP server. */
  const inviteOne = async () => {
    const target = { target: auth?.address ?? '', timeoutMs: 60_000 };
    const workspaces = createClient(WorkspacesService, target);
    const invitations = createClient(InvitationsService, target);
    const { workspace } = await workspaces.createWorkspace({ name: 'w' });
    const request = { workspaceId: workspace?.id ?? '', email: 'ann@example.com', role: Role.VIEWER };
    await invitations.createInvitation(request);
    workspaces.close();
    invitations.close();
    // Alerts queues the email, then auth deletes its request.
    const rowsOf = async (table: string) => (await database.pool.query(`select from ${table}`)).rowCount;
    const queued = async () => (await rowsOf('alerts.emails')) === 1 && (await rowsOf('auth.email_requests')) === 0;
    await waitUntil(queued, { what: 'the email to be queued' });
  };
  const createOne = async () => {
    const webhooks = createClient(WebhooksService, { target: service?.address ?? '', timeoutMs: 60_000 });
    const request = { workspaceId, environment: Environment.LIVE, url: 'http://127.0.0.1:65535/', events: ['*'] };
    const { webhook } = await webhooks.createWebhook({ ...request, idempotencyKey: newId('req') });
    webhooks.close();
    return webhook?.id ?? '';
  };
  const rotate = (...more: string[]): Promise<Outcome> =>
    runRms(['secrets', 'rotate', ...more], {
      DATA_DIR: dataDir,
      AUTH_ADDRESS: auth?.address ?? '',
      WEBHOOKS_ADDRESS: service?.address ?? '',
      ALERTS_ADDRESS: alerts?.address ?? 'none',
    });

  test('reports the re-encrypted secrets and that previous keys can be removed; a second run changes nothing', async () => {
    await start(old);
    await createOne();
    await inviteOne();
    await start(current, old);
    const { code, stdout, stderr } = await rotate();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^auth +0 +0 +0$/m);
    expect(stdout).toMatch(/^webhooks +2 +0 +0$/m);
    expect(stdout).toMatch(/^alerts +1 +0 +0$/m);
    expect(stdout).toContain('Remove ENCRYPTION_KEY_PREVIOUS now, and restart.');
    const nothing = {
      resealed: 0,
      unreadable: 0,
      unreadable_webhooks: [],
      unreadable_users: [],
      remaining: 0,
      remaining_keys: [],
      has_previous_keys: true,
    };
    const again = JSON.parse((await rotate('--json')).stdout);
    expect(again).toEqual({
      done: true,
      data: [
        { ...nothing, service: 'auth', already_current: 0 },
        { ...nothing, service: 'webhooks', already_current: 2 },
        { ...nothing, service: 'alerts', already_current: 1 },
      ],
    });
    await start(current);
    expect((await rotate()).stdout).toMatch(/\nAll secrets use the current key\.\n$/);
  });

  test('lists unreadable secrets and exits with 1; the previous keys must stay', async () => {
    await start(lost);
    const id = await createOne();
    await start(old, lost);
    await createOne();
    await start(current, old);
    const { code, stdout } = await rotate();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^webhooks +2 +0 +2$/m);
    expect(stdout).toMatch(/2 secrets cannot be decrypted: no configured key matches/);
    expect(stdout).toContain('If the key is lost, rotate the webhook secrets.');
    expect(stdout).toContain(`rms webhooks rotate-secret ${id} --workspace ${workspaceId}`);
    expect(stdout).not.toContain('Remove ENCRYPTION_KEY_PREVIOUS');
    const json = await rotate('--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      done: false,
      data: [
        { service: 'auth', remaining: 0 },
        { resealed: 0, already_current: 2, unreadable: 2, remaining: 2, unreadable_webhooks: [{ id }] },
        { service: 'alerts', remaining: 0 },
      ],
    });
    await start(current, lost);
    expect((await rotate()).code).toBe(0);
  });

  test('its help explains how to change a key', async () => {
    await start(current);
    const { code, stdout } = await rotate('--help');
    expect(code).toBe(0);
    for (const text of ['ENCRYPTION_KEY_PREVIOUS', 'encryption.key.previous', 'rms secrets rotate']) {
      expect(stdout).toContain(text);
    }
  });

  test('an unreachable service is reported in one line', async () => {
    const { code, stderr } = await runRms(['secrets', 'rotate'], {
      DATA_DIR: dataDir,
      AUTH_ADDRESS: '127.0.0.1:1',
      WEBHOOKS_ADDRESS: '127.0.0.1:1',
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^rms: The service is unreachable[^\n]*\n$/);
  });
});
