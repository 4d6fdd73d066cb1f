import { Counter, createMetrics, serveMetrics } from '@rms/service';

describe('Metrics', () => {
  test('show what services of the process have counted, each under its name, and the process itself', async () => {
    const [auth, gateway] = [createMetrics('auth'), createMetrics('gateway')];
    new Counter({ name: 'rms_test_keys_total', help: 'Keys.', registers: [auth] }).inc(3);
    new Counter({ name: 'rms_test_requests_total', help: 'Requests.', registers: [gateway] }).inc();
    const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, [auth, gateway]);
    try {
      const answer = await fetch(`${server.address}/metrics`);
      expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
      const text = await answer.text();
      expect(text).toContain('rms_test_keys_total{service="auth"} 3');
      expect(text).toContain('rms_test_requests_total{service="gateway"} 1');
      expect(text).toContain('process_resident_memory_bytes');
      expect((await fetch(`${server.address}/`)).status).toBe(404);
    } finally {
      await server.stop();
    }
  });

  test('a port in use is told', async () => {
    const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, []);
    const port = Number(new URL(server.address).port);
    await expect(serveMetrics({ host: '127.0.0.1', port }, [])).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    await server.stop();
  });
});
