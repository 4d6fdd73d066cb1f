import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { createClient } from '@rms/rpc';
import { perSuite, startPostgres, waitUntil } from '@rms/testkit';
import { startAuth } from './support.ts';

describe('Health', () => {
  const postgres = perSuite(startPostgres);
  const auth = perSuite(() => startAuth({ databaseServer: postgres.url }));

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
