import { request as httpRequest } from 'node:http';
import { freePort, waitUntil } from '@rms/testkit';
import { startGateway, type TestGateway } from './support/start-gateway.ts';

describe('The metrics of the gateway', () => {
  let api: TestGateway;
  let address: string;
  beforeAll(async () => {
    address = `127.0.0.1:${await freePort()}`;
    api = await startGateway({ env: { METRICS_ADDRESS: address } });
  });
  afterAll(() => api.stop());

  const scrape = async () => (await fetch(`http://${address}/metrics`)).text();
  /** Returns the value in the first series that contains all parts. */
  const value = (text: string, ...parts: string[]) =>
    Number(
      text
        .split('\n')
        .find((line) => !line.startsWith('#') && parts.every((part) => line.includes(part)))
        ?.split(' ')
        .at(-1) ?? Number.NaN,
    );

  test('count requests by environment, route pattern, method and status class', async () => {
    const key = api.auth.newKey('admin').value;
    await api.send('POST', '/v1/resources', { key, json: { name: 'x' } });
    await api.send('GET', `/v1/resources/res_${'0'.repeat(26)}`, { key });
    await api.send('GET', '/v1/guessed/sk_live_secret', { key });
    await api.send('GET', '/v1/resources');
    const text = await waitUntil(
      async () => {
        const shown = await scrape();
        return value(shown, 'rms_http_requests_total', 'route="/v1/resources"', 'status="4xx"', 'GET') === 1 && shown;
      },
      { what: 'all requests to be counted' },
    );
    const requests = (...parts: string[]) => value(text, 'rms_http_requests_total', 'environment="live"', ...parts);
    expect(requests('route="/v1/resources"', 'method="POST"', 'status="2xx"')).toBe(1);
    expect(requests('route="/v1/resources/{id}"', 'method="GET"', 'status="4xx"')).toBe(1);
    expect(requests('route="other"', 'method="GET"', 'status="4xx"')).toBe(1);
    expect(requests('route="/v1/resources"', 'method="POST"', 'status="5xx"')).toBe(0);
    expect(text).not.toContain('guessed');
    expect(value(text, 'rms_http_request_duration_seconds_count', 'method="POST"')).toBe(1);
    expect(value(text, 'rms_grpc_client_calls_total', 'BatchCreateResources', 'code="ok"')).toBe(1);
    expect(value(text, 'rms_http_requests_in_flight', 'environment="live"')).toBe(0);
    expect(value(text, 'rms_ready{')).toBe(1);
    expect(value(text, 'rms_dependency_up', 'dependency="auth"')).toBe(1);
    expect(text).toMatch(/rms_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+",service="gateway"\} 1/);
  });

  test('count a disconnected client as aborted', async () => {
    const key = api.auth.newKey('admin').value;
    let arrived = () => {};
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    api.resources.before = (signal) => {
      arrived();
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    };
    const aborted = httpRequest(`${api.gateway.addresses.live}/v1/resources`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    aborted.on('error', () => {});
    aborted.end();
    await waiting;
    expect(value(await scrape(), 'rms_http_requests_in_flight', 'environment="live"')).toBe(1);
    aborted.destroy();
    await waitUntil(
      async () =>
        value(await scrape(), 'rms_http_requests_total', 'route="/v1/resources"', 'method="GET"', 'aborted') === 1,
      { what: 'the aborted request to be counted' },
    );
    api.resources.before = async () => {};
  });
});
