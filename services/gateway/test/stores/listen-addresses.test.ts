import { describeWith, disposable } from '@rms/testkit';
import { startGateway } from '../support/start-gateway.ts';
import { send } from '../support/wire.ts';

describeWith('ipv6', 'A gateway on "::"', () => {
  test('serves IPv6 and IPv4, and compares the addresses of both with the allowlist of a key', async () => {
    await using api = disposable(await startGateway({ env: { HOST: '::', METRICS_ADDRESS: '[::]:0' } }));
    const { port } = new URL(api.gateway.addresses.live);
    const statusFrom = async (host: string, allowedIp: string) => {
      const { value } = api.auth.newKey('admin', { allowedIps: [allowedIp] });
      return (await send(`http://${host}:${port}`, 'GET', '/v1/resources', { key: value })).status;
    };
    expect(await statusFrom('127.0.0.1', '127.0.0.1')).toBe(200);
    expect(await statusFrom('[::1]', '::1')).toBe(200);
    expect(await statusFrom('127.0.0.1', '::1')).toBe(403);
    expect(await statusFrom('[::1]', '127.0.0.1')).toBe(403);
  });
});
