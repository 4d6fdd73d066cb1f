import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { createClient, type RpcSecurity } from '@rms/rpc';

const timeoutMs = 2_000;

/** Returns whether a gRPC server reports that it is serving. */
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

/** Returns whether a gateway is ready and reaches all its dependencies. */
export async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) });
    const { dependencies } = (await response.json()) as { dependencies: Record<string, string> };
    return response.ok && Object.values(dependencies).every((state) => state === 'up');
  } catch {
    return false;
  }
}

/** Returns whether an HTTP service reports that it is ready. */
export async function reportsReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) })).ok;
  } catch {
    return false;
  }
}
