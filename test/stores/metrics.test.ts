import { join } from 'node:path';
import {
  describeWith,
  freePort,
  type Network,
  type Program,
  perSuite,
  startNetwork,
  startProgram,
  startReceiver,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import { expectStatus } from '../api/support/api-client.ts';
import type { One, Resource, Webhook } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';
import { retryFast, subscribe } from '../api/support/subscriber.ts';
import { signInAt } from '../faults/dashboard/browser.ts';
import { readExposition, type ShownMetric } from './exposition.ts';
import { dashboardExpressions, groupingsOf, ruleExpressions, selectorsOf } from './expressions.ts';
import { documentedList, listOf, writeList } from './metrics-document.ts';

const root = join(import.meta.dirname, '..', '..');
/** Labels that Prometheus or the recording rules add to every series. */
const added = new Set(['namespace', 'pod', 'slo']);

describeWith(['redis', 'kafka'], 'The metrics of all services', () => {
  let network: Network;
  let proxy: Program;
  let urls: string[];
  const emails = suiteFolder('emails');
  let metrics: Map<string, ShownMetric>;

  afterAll(async () => {
    await proxy?.terminate();
    await network?.stop();
  });
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    const [webhooks, resources, alerts] = [await freePort(), await freePort(), await freePort()];
    const [dashboard, egress] = [await freePort(), await freePort()];
    const at = (port: number) => ({ METRICS_ADDRESS: `127.0.0.1:${port}` });
    network = await startNetwork({
      env: { ...openSettings, EMAIL_DIR: emails },
      serviceEnv: { webhooks: at(webhooks), resources: at(resources), alerts: at(alerts), dashboard: at(dashboard) },
      mutualTls: true,
      dashboard: true,
    });
    proxy = await startEgressProxy(egress);
    urls = [
      ...network.gateways.map(({ metricsUrl }) => metricsUrl),
      network.authMetricsUrl,
      ...[webhooks, resources, alerts, dashboard, egress].map((port) => `http://127.0.0.1:${port}/metrics`),
    ];
    await drive(await newAccount({ shape: network, contract: await readContract(network.liveUrl) }));
    metrics = await waitUntil(
      async () => {
        const shown = await scrape();
        // Some series and labels appear only after the first event, or after the first read.
        const lag = shown.get('rms_consumer_lag_records')?.sampleNames.size;
        const retried = shown.get('rms_delivery_age_seconds')?.labels.has('environment');
        const labeled = [
          ['rms_http_requests_total', 'status'],
          ['rms_alert_notices_total', 'kind'],
          ['rms_emails_total', 'outcome'],
        ].every(([name = '', label = '']) => shown.get(name)?.labels.has(label));
        return lag && retried && labeled ? shown : undefined;
      },
      { what: 'all expected metrics' },
    );
  });

  const scrape = async () => {
    const responses = await Promise.all(urls.map((url) => fetch(url)));
    return readExposition(await Promise.all(responses.map((response) => response.text())));
  };

  const startEgressProxy = async (metricsPort: number) => {
    const port = await freePort();
    const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    const egress = await startProgram({
      name: 'egress proxy',
      command: process.execPath,
      args: [join(root, 'services', 'egress-proxy', 'src', 'main.ts')],
      env: { PATH: process.env.PATH, EGRESS_PROXY_PORT: `${port}`, METRICS_ADDRESS: `127.0.0.1:${metricsPort}` },
      outputFile: join(network.env.DATA_DIR as string, 'egress-proxy.log'),
      ready: () =>
        fetch(metricsUrl).then(
          ({ ok }) => ok,
          () => false,
        ),
    });
    // Rejected and therefore counted: the proxy accepts CONNECT only.
    await fetch(`http://127.0.0.1:${port}/`);
    return egress;
  };

  /** Produces requests of all kinds, successful and failed deliveries, an alert, a key revocation, and a sign-in. */
  const drive = async (account: Account) => {
    const admin = await account.client('live', 'admin');
    const url = `http://127.0.0.1:${await freePort()}/nobody-is-there`;
    const broken = expectStatus(await admin.post<One<Webhook>>('/v1/webhooks', { url, events: ['*'] }), 201);
    // Three failures in a row open an alert.
    await retryFast(account, broken.body.data.id, 3);
    const person = { email: 'owner@example.com' };
    const args = ['create', '--email', person.email, '--role', 'owner'];
    const { password } = await account.rms<{ password: string }>('users', ...args);
    await signInAt(network.dashboard?.url ?? '', { ...person, password });
    const { webhook } = await subscribe(admin, receiver, ['*']);
    await retryFast(account, webhook.id, 2);
    receiver.respondWith(500);
    await admin.post('/v1/resources', { name: 'fails first' });
    await waitUntil(() => receiver.requests.length > 1, { what: 'a retry' });
    receiver.respondWith(200);
    const { body } = await admin.post<One<Resource>>('/v1/resources', { name: 'arrives' });
    await admin.get(`/v1/resources/${body.data.id}`);
    await receiver.waitFor(({ json }) => json?.data?.object?.name === 'arrives', 'the delivery');
    const key = await account.newKey('live', 'read');
    await account.rms('keys', 'revoke', key.id);
    await fetch(`${network.liveUrl}/v1/resources`, { headers: { Authorization: `Bearer ${key.key}` } });
    await fetch(`${network.liveUrl}/v1/nothing`);
  };

  test('have conventional names, types and help texts', () => {
    for (const { name, type, help } of metrics.values()) {
      if (!name.startsWith('rms_')) continue;
      expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z].{10,}\.$/)]);
      expect([name, type === 'counter']).toEqual([name, name.endsWith('_total')]);
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    }
  });

  test('have no label that identifies a workspace, key, webhook, event or request', () => {
    for (const { name, labels } of metrics.values()) {
      for (const label of labels)
        expect([name, label]).not.toEqual([name, expect.stringMatching(/_id$|^id$|^key$|^url$/)]);
    }
  });

  test('match the list in docs/metrics.md', () => {
    const list = listOf(metrics.values());
    if (process.env.WRITE_METRICS_DOCUMENT) writeList(list);
    expect(documentedList()).toBe(list);
  });

  test.each([
    ['rules', ruleExpressions()],
    ['dashboards', dashboardExpressions()],
  ])('exist with the labels that the queries of the %s use', (_, expressions) => {
    expect(expressions.length).toBeGreaterThan(50);
    const known = new Map<string, ReadonlySet<string>>();
    for (const { sampleNames, labels } of metrics.values()) for (const name of sampleNames) known.set(name, labels);
    const wrong = expressions.flatMap(({ from, text }) => {
      const selectors = selectorsOf(text);
      const all = new Set([...added, ...selectors.flatMap(({ name }) => [...(known.get(name) ?? [])])]);
      return [
        ...selectors.filter(({ name }) => !known.has(name)).map(({ name }) => `${from}: no metric ${name}`),
        ...selectors.flatMap(({ name, labels }) =>
          labels
            .filter((label) => !added.has(label) && known.has(name) && !known.get(name)?.has(label))
            .map((label) => `${from}: ${name} has no label ${label}`),
        ),
        ...groupingsOf(text)
          .filter((label) => !all.has(label))
          .map((label) => `${from}: no metric has the label ${label}`),
      ];
    });
    expect(wrong).toEqual([]);
  });
});
