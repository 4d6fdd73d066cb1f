import { Counter, createMetrics } from '@rms/runtime/metrics';
import { type ServiceState, serveMetrics, stopping } from '@rms/runtime/service';
import { disposable } from '@rms/testkit';

describe('Metrics', () => {
  test('include the metrics of each service and of the process', async () => {
    const [auth, gateway] = [createMetrics('auth'), createMetrics('gateway')];
    new Counter({ name: 'rms_test_keys_total', help: 'Keys.', registers: [auth] }).inc(3);
    new Counter({ name: 'rms_test_requests_total', help: 'Requests.', registers: [gateway] }).inc();
    await using server = disposable(await serveMetrics({ host: '127.0.0.1', port: 0 }, [auth, gateway]));
    const response = await fetch(`${server.address}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await response.text();
    expect(text).toContain('rms_test_keys_total{service="auth"} 3');
    expect(text).toContain('rms_test_requests_total{service="gateway"} 1');
    expect(text).toContain('process_resident_memory_bytes');
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(text).not.toContain('nodejs_eventloop_utilization');
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(names).toContain('rms_build_info');
    expect(new Set(names).size).toBe(names.length);
    expect(text).toMatch(/rms_build_info\{[^}]*service="auth"\} 1\nrms_build_info\{[^}]*service="gateway"\} 1\n/);
    expect((await fetch(`${server.address}/`)).status).toBe(404);
  });

  test('are served alongside probes: alive, ready, accepting calls', async () => {
    let state: ServiceState | Promise<ServiceState> = { ready: false, takesCalls: true, failing: ['fan-out'] };
    await using server = disposable(await serveMetrics({ host: '127.0.0.1', port: 0 }, [], () => state));
    const probe = async (path: string, method = 'GET') => (await fetch(`${server.address}${path}`, { method })).status;
    const all = () => Promise.all(['/livez', '/readyz', '/readyz/calls'].map((path) => probe(path)));
    expect(await all()).toEqual([200, 503, 200]);
    state = Promise.resolve(stopping);
    expect(await all()).toEqual([200, 503, 503]);
    state = { ready: true, takesCalls: true, failing: [] };
    expect(await all()).toEqual([200, 200, 200]);
    expect(await Promise.all([probe('/readyz', 'HEAD'), probe('/readyz', 'POST'), probe('/')])).toEqual([
      200, 404, 404,
    ]);
  });

  test('reports a port in use', async () => {
    const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, []);
    const port = Number(new URL(server.address).port);
    await expect(serveMetrics({ host: '127.0.0.1', port }, [])).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    await server.stop();
  });
});
