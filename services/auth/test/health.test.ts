import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { createClient } from '@rms/rpc';
import { type PostgresServer, startPostgres, waitUntil } from '@rms/testkit';
import { startAuth, type TestAuth } from './support.ts';

describe('Health', () => {
  let postgres: PostgresServer;
  let auth: TestAuth;
  beforeAll(async () => {
    postgres = await startPostgres();
    auth = await startAuth({ databaseServer: postgres.url });
  });
  afterAll(async () => {
    await auth?.stop();
    await postgres?.stop();
  });

  test('auth is serving only while PostgreSQL is available, rejects calls during an outage, and recovers by itself', async () => {
    const health = createClient(Health, { target: auth.address, timeoutMs: 60_000 });
    const isServing = async () => (await health.check({})).status === ServingStatus.SERVING;
    await waitUntil(isServing, { what: 'a serving auth' });
    const { value, workspaceId } = await auth.newKey();

    await postgres.kill();
    await waitUntil(async () => !(await isServing()), { what: 'auth to report that it is not serving' });
    await expect(auth.verify(value)).rejects.toMatchObject({ code: 'service_unavailable' });
    await expect(auth.newKey({ workspaceId })).rejects.toMatchObject({ code: 'service_unavailable' });

    await postgres.restart();
    await waitUntil(isServing, { what: 'auth to be serving again' });
    expect((await auth.verify(value))?.principal?.workspaceId).toBe(workspaceId);
    health.close();
  });
});
