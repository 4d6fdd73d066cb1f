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

/**
 * Returns whether a service is ready and reaches all its dependencies, by its metrics port.
 * @param metricsUrl the URL of its metrics
 */
export async function isReady(metricsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/readyz', metricsUrl), { signal: AbortSignal.timeout(timeoutMs) });
    const { failing } = (await response.json()) as { failing: readonly string[] };
    return response.ok && failing.length === 0;
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
