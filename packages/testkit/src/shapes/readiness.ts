import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { createClient, type RpcSecurity } from '@rms/rpc';

const timeoutMs = 2_000;

/** Whether a gRPC server says that it is serving. */
export async function isServing(address: string, security: RpcSecurity): Promise<boolean> {
  const health = createClient(Health, { target: address, timeoutMs, security });
  try {
    return (await health.check({})).status === ServingStatus.SERVING;
  } catch {
    return false;
  } finally {
    health.close();
  }
}

/** Whether a gateway says that it is ready, and reaches everything that it needs. */
export async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) });
    const { dependencies } = (await answer.json()) as { dependencies: Record<string, string> };
    return answer.ok && Object.values(dependencies).every((state) => state === 'up');
  } catch {
    return false;
  }
}

/** Whether an HTTP service says that it is ready. */
export async function answersReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) })).ok;
  } catch {
    return false;
  }
}
