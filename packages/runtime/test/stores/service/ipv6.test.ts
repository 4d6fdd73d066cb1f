import { serveMetrics } from '@rms/runtime/service';
import { describeWith } from '@rms/testkit';

describeWith('ipv6', 'metrics', () => {
  test('on "::" are served to IPv6 and to IPv4', async () => {
    const server = await serveMetrics({ host: '::', port: 0 }, []);
    const { port } = new URL(server.address);
    try {
      for (const host of ['127.0.0.1', '[::1]']) {
        expect((await fetch(`http://${host}:${port}/metrics`)).status).toBe(200);
      }
    } finally {
      await server.stop();
    }
  });
});
