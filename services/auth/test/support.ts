import { currentCall } from '@rms/async';
import { hashOfApiKey } from '@rms/base/api-key';
import { createMemoryLimiter, type KeyChange, type SetMarkers } from '@rms/limits';
import { migrations as auditMigrations } from '@rms/postgres/audit';
import type { Pool } from '@rms/postgres/db';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient, loopbackOnly } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { readSettings } from '@rms/runtime/settings';
import { noLimits, type TestDatabase, testDatabase, testPool } from '@rms/testkit';
import { createAuth, readAuthConfig } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';
import { createPasswordHasher, type PasswordHasher } from '../src/password/hasher.ts';

/** Creates an empty database with the tables of auth and of the audit log. */
export const authDatabase = (server?: string): Promise<TestDatabase> =>
  testDatabase([auditMigrations, migrations], server);

/** Creates a limiter that records markers and can simulate an outage of Redis. */
export function createTestLimiter() {
  const memory = createMemoryLimiter(noLimits);
  const marked: KeyChange[] = [];
  let unavailable = false;
  let refused = 0;
  let tries = 0;
  let confirmations = 0;
  return {
    /** All markers that were set, in order. */
    marked,
    /** Numbers of started and of successful confirmations. */
    get confirming() {
      return { tries, confirmations };
    },
    /** Number of calls that could not set markers. */
    get refused() {
      return refused;
    },
    setUnavailable(isUnavailable: boolean) {
      unavailable = isUnavailable;
    },
    confirmEveryMs: 1_000,
    start: () => memory.start(),
    stop: () => memory.stop(),
    async setMarkers(changes: readonly KeyChange[]) {
      if (unavailable) {
        refused += 1;
        throw new Error('redis does not respond');
      }
      marked.push(...changes);
      await memory.setMarkers(changes);
    },
    async confirmMarkers(setAll: (set: SetMarkers) => Promise<void>) {
      tries += 1;
      // A marker that could not be set prevents the confirmation, even if Redis is available again by then.
      let failed = unavailable;
      await setAll(async (changes) => {
        failed ||= unavailable;
        if (failed) return [];
        marked.push(...changes);
        return changes;
      });
      if (failed || unavailable) throw new Error('redis does not respond');
      confirmations += 1;
    },
  };
}

/** Cost of password hashes in tests; hasher.test.ts tests the service's cost. */
export const cheapCost = { memoryKib: 64, passes: 1, parallelism: 1 };

/** Returns an encryption key that differs per `byte`. */
export const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');

/** Starts the auth service on a PostgreSQL database. Records its markers and log lines. */
export async function startAuth(
  options: {
    databaseServer?: string;
    database?: TestDatabase;
    encryptionKeys?: readonly string[];
    env?: Readonly<Record<string, string>>;
    /** Called for every statement of a call, and for every password hash or verification of a call. */
    onWork?: (what: string) => void;
  } = {},
) {
  const logged: string[] = [];
  const log = createLogger({ name: 'test', level: 'info', destination: { write: (line) => void logged.push(line) } });
  const database = options.database ?? (await authDatabase(options.databaseServer));
  const pool = testPool({ url: database.url, max: 8, applicationName: 'auth', log });
  const passwords = createPasswordHasher(cheapCost);
  const { onWork } = options;
  if (onWork) watchWork(pool, passwords, (what) => currentCall() && onWork(what));
  const limiter = createTestLimiter();
  const metrics = createMetrics('auth');
  const [ENCRYPTION_KEY = keyOf(1), ...previous] = options.encryptionKeys ?? [];
  const config = readAuthConfig(
    readSettings({ ...options.env, ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS: previous.join(',') }),
  );
  const service = createAuth(config, { pool, limiter, passwords, log, metrics, security: loopbackOnly });
  await service.start();
  const target = { target: service.address, timeoutMs: 60_000 };
  const keys = createClient(KeysService, target);
  const workspaces = createClient(WorkspacesService, target);
  const plans = createClient(PlansService, target);
  const keyUses = createClient(KeyUsesService, target);
  const requests = createClient(RequestsService, target);
  const audit = createClient(AuditService, target);
  const newWorkspace = async () => {
    const { workspace } = await workspaces.createWorkspace({ name: 'Test' });
    return workspace?.id ?? '';
  };
  return {
    address: service.address,
    database,
    keys,
    workspaces,
    plans,
    keyUses,
    requests,
    audit,
    limiter,
    /** Returns the IDs of keys with set markers. */
    marked: () => limiter.marked.map(({ keyId }) => keyId),
    /** Returns the number of pending markers. */
    async pendingMarkers() {
      const { rows } = await database.pool.query('select count(*)::int from auth.pending_markers');
      return rows[0].count as number;
    },
    metrics,
    logged,
    newWorkspace,
    /** Creates a key in a new workspace; by default a live key with scope write. */
    async newKey(more: object = {}) {
      const requested = {
        workspaceId: await newWorkspace(),
        environment: Environment.LIVE,
        scope: Scope.WRITE,
        name: 'k',
      };
      const { key, keyValue } = await keys.createKey({ ...requested, ...more });
      if (!key) throw new Error('no key in the answer');
      return { workspaceId: key.workspaceId, id: key.id, value: keyValue, key };
    },
    /** Moves the expiry date of a key to now. */
    async expireKey({ id }: { id: string }) {
      await database.pool.query('update auth.keys set expires_at = now() where id = $1', [id]);
    },
    async verify(value: string, environment = Environment.LIVE) {
      const { results } = await keys.batchVerifyKeys({ requests: [{ keyHash: hashOfApiKey(value), environment }] });
      return results[0];
    },
    async stop() {
      for (const client of [keys, workspaces, plans, keyUses, requests, audit]) client.close();
      await service.stop();
      if (!options.database) await database.drop();
    },
  };
}

function watchWork(pool: Pool, passwords: PasswordHasher, onWork: (what: string) => void): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    client.query = ((given: string | { text: string }, ...rest: unknown[]) => {
      onWork(typeof given === 'string' ? given : given.text);
      return query(given, ...rest);
    }) as typeof client.query;
  });
  const { hash, verify } = passwords;
  Object.assign(passwords, {
    hash: (...given: Parameters<typeof hash>) => {
      onWork('a hash');
      return hash(...given);
    },
    verify: (...given: Parameters<typeof verify>) => {
      onWork('a hash');
      return verify(...given);
    },
  });
}
