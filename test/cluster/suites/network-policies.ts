import { waitUntil } from '@rms/testkit';
import { reachedFrom } from '../support/dial.ts';
import { isPodReady, type KubernetesObject, type Pod } from '../support/kubernetes.ts';
import type { Stage } from '../support/stage.ts';
import type { Stores } from '../support/stores.ts';
import { scraperLabels } from '../support/values.ts';

interface PolicyObject extends KubernetesObject {
  readonly spec: { readonly podSelector: { readonly matchLabels?: Readonly<Record<string, string>> } };
}

interface ServicePod extends Pod {
  readonly spec: Pod['spec'] & {
    readonly containers: readonly {
      readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
    }[];
  };
}

const collector = 'the collector';
const services = ['gateway', 'auth', 'resources', 'webhooks', 'alerts', 'dashboard'] as const;
const metrics = services.map((service) => `${service} metrics`).sort();

/** Allowed connections per component: exactly the arrows of ARCHITECTURE.md. */
const arrows = {
  gateway: ['Redis', 'alerts grpc', 'auth grpc', 'resources grpc', collector, 'webhooks grpc'],
  auth: ['PostgreSQL', 'Redis', collector],
  resources: ['Kafka', 'PostgreSQL', collector],
  webhooks: ['Kafka', 'PostgreSQL', 'a receiver', 'alerts grpc', 'auth grpc', collector],
  alerts: ['Kafka', 'PostgreSQL', 'Redis', 'a receiver', 'auth grpc', collector],
  dashboard: ['Redis', 'alerts grpc', 'auth grpc', 'resources grpc', collector, 'webhooks grpc'],
  cli: ['alerts grpc', 'auth grpc', 'resources grpc', 'webhooks grpc'],
};

/** Pods that the tests add: three with labels of pods of the chart, a metrics scraper, and an unrelated pod. */
const visitors = {
  migrate: { labels: { 'app.kubernetes.io/component': 'migrate' }, reach: ['PostgreSQL'] },
  test: {
    labels: { 'app.kubernetes.io/component': 'test' },
    reach: ['auth grpc', 'gateway live', 'gateway sandbox', 'webhooks grpc'],
  },
  // For the following pods, only connections to our own services count: the certificate Job may reach the API server at
  // any address, and no policy of the release applies to the other two.
  tls: { labels: { 'app.kubernetes.io/component': 'tls' }, reach: [] },
  scraper: { labels: scraperLabels, reach: metrics },
  outsider: { labels: {}, reach: [] },
};
const onlyOurs = ['tls', 'scraper', 'outsider'];

export function networkPoliciesSuite(stage: () => Stage): void {
  describe('Network policies', () => {
    const targets = new Map<string, string>();

    beforeAll(async () => {
      const { release, tools, image, stores } = stage();
      const { kubernetes } = release;
      await kubernetes.apply(...Object.keys(visitors).map((name) => visitor(stage(), name, image)));
      const pods = await waitUntil(
        async () => {
          const found = await kubernetes.list<Pod>('pods', 'rms-test=visitor');
          return found.length === Object.keys(visitors).length && found.every(isPodReady) && found;
        },
        { what: 'the visitors', timeoutMs: 60_000, everyMs: 500 },
      );
      for (const service of services) {
        const [pod] = (await release.waitForPods(service)) as ServicePod[];
        for (const { name, containerPort } of pod?.spec.containers[0]?.ports ?? []) {
          targets.set(`${service} ${name}`, `${pod?.status.podIP}:${containerPort}`);
        }
      }
      for (const [name, target] of storeTargets(stores)) targets.set(name, target);
      targets.set('a receiver', `${tools.gateAddress}:9000`);
      targets.set(collector, `${tools.gateAddress}:4318`);
      const outsider = pods.find(({ metadata }) => metadata.name === 'visitor-outsider');
      targets.set('a private address', `${outsider?.status.podIP}:9000`);
      targets.set('the API server', 'kubernetes.default.svc:443');
    }, 120_000);
    afterAll(async () => {
      await stage().release.kubernetes.kubectl(['delete', 'pods', '--selector', 'rms-test=visitor', '--now']);
    }, 60_000);

    for (const [component, reach] of Object.entries(arrows)) {
      test(`${component} can reach ${inWords(reach)}, and nothing else`, async () => {
        const { release } = stage();
        const [pod] = await release.waitForPods(component as keyof typeof arrows);
        expect(await reachedFrom(release.kubernetes, pod?.metadata.name ?? '', without(component))).toEqual(reach);
      });
    }
    for (const [name, { reach }] of Object.entries(visitors)) {
      const what = onlyOurs.includes(name) ? 'nothing else of the release' : 'nothing else';
      test(`the ${name} pod can reach ${inWords(reach)}, and ${what}`, async () => {
        const { kubernetes } = stage().release;
        const expected = [...reach].sort();
        // Policies take effect shortly after a pod has started.
        const reached = await waitUntil(
          async () => {
            const all = await reachedFrom(kubernetes, `visitor-${name}`, without(name));
            const counted = onlyOurs.includes(name) ? all.filter(isOurs) : all;
            return (counted.length === expected.length && counted) || Promise.reject(new Error(counted.join(', ')));
          },
          { what: `${name} to reach ${inWords(reach)}`, timeoutMs: 20_000 },
        );
        expect(reached).toEqual(expected);
      });
    }
    test('the certificate Job can reach the API server', async () => {
      const target = new Map([...targets].filter(([name]) => name === 'the API server'));
      const reached = await reachedFrom(stage().release.kubernetes, 'visitor-tls', target);
      expect(reached).toEqual(['the API server']);
    });

    test('a pod of another namespace can reach no service of the release', async () => {
      const reached = await reachedFrom(stage().tools.kubernetes, 'gate', targets);
      expect(reached.filter(isOurs)).toEqual([]);
    });

    test('these tests cover every policy of the release', async () => {
      const { kubernetes, name } = stage().release;
      const policies = await kubernetes.list<PolicyObject>('networkpolicies', `app.kubernetes.io/instance=${name}`);
      const selected = policies.map(
        ({ spec }) => spec.podSelector.matchLabels?.['app.kubernetes.io/component'] ?? 'all',
      );
      const proven = ['all', ...Object.keys(arrows), 'migrate', 'test', 'tls'];
      expect(selected.filter((component) => !proven.includes(component))).toEqual([]);
      for (const service of services) expect(selected).toContain(service);
    });

    /** All targets except the pod's own. */
    const without = (name: string) => new Map([...targets].filter(([target]) => !target.startsWith(`${name} `)));
    const isOurs = (target: string) => services.some((service) => target.startsWith(`${service} `));
  });
}

function storeTargets({ databaseUrl, redisUrl, kafkaBrokers }: Stores): [string, string][] {
  const hostPort = (url: URL, port: number) => `${url.hostname}:${url.port || port}`;
  return [
    ['PostgreSQL', hostPort(new URL(databaseUrl), 5432)],
    ['Redis', hostPort(new URL(redisUrl), 6379)],
    ['Kafka', kafkaBrokers.split(',')[0] ?? ''],
  ];
}

/** Returns a pod in the release's namespace that listens on port 9000. */
function visitor({ release }: Stage, name: string, image: string): object {
  const { labels } = visitors[name as keyof typeof visitors];
  const isJob = 'app.kubernetes.io/component' in labels;
  const ours = isJob ? { 'app.kubernetes.io/name': 'rms', 'app.kubernetes.io/instance': release.name } : {};
  const program =
    'process.on("SIGTERM", () => process.exit(0)); require("node:http").createServer((_, r) => r.end()).listen(9000)';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `visitor-${name}`, labels: { 'rms-test': 'visitor', ...ours, ...labels } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'visitor', image, imagePullPolicy: 'IfNotPresent', command: ['node', '-e', program] }],
    },
  };
}

function inWords(reach: readonly string[]): string {
  return reach.length === 0 ? 'nothing' : reach.join(', ');
}
