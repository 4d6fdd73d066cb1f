import { serveMetrics } from '@rms/runtime/service';
import { describeWith, disposable } from '@rms/testkit';

describeWith('ipv6', 'metrics', () => {
  test('on "::" are served to IPv6 and to IPv4', async () => {
    await using server = disposable(await serveMetrics({ host: '::', port: 0 }, []));
    const { port } = new URL(server.address);
    for (const host of ['127.0.0.1', '[::1]']) {
      expect((await fetch(`http://${host}:${port}/metrics`)).status).toBe(200);
    }
  });
});
