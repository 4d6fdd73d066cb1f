import type { Stores } from './stores.ts';

export interface ValueOptions {
  /** "repository:tag" */
  readonly image: string;
  readonly stores: Stores;
  readonly hosts: { readonly live: string; readonly test: string; readonly dashboard: string };
  /** Source CIDRs of the ingress controller's requests. */
  readonly ingressSources: readonly string[];
  readonly gateAddress: string;
  /** URL of the trace collector. */
  readonly collectorUrl: string;
}

/** Name of the Secret that an operator creates before the installation. */
export const secretName = 'rms-given';

export function givenSecret(
  { databaseUrl, redisUrl }: Stores,
  keys: { readonly encryptionKey: string; readonly sessionKey: string },
): object {
  const stringData = {
    'database-url': databaseUrl,
    'redis-url': redisUrl,
    'encryption-key': keys.encryptionKey,
    'session-key': keys.sessionKey,
  };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: secretName }, stringData };
}

/** Labels of a pod that may read metrics. */
export const scraperLabels = { role: 'scraper' };

/**
 * Returns values like an operator's, except for smaller resource requests: everything fits on a shared two-core node.
 */
export function releaseValues(options: ValueOptions): object {
  const { image, stores, hosts, ingressSources, gateAddress, collectorUrl } = options;
  const tag = image.lastIndexOf(':');
  const database = new URL(stores.databaseUrl);
  const redis = new URL(stores.redisUrl);
  const brokers = stores.kafkaBrokers.split(',').map((broker) => new URL(`kafka://${broker}`));
  const resources = (cpu: string, memory: string) => ({
    resources: { requests: { cpu, memory: '96Mi' }, limits: { memory } },
  });
  return {
    image: { repository: image.slice(0, tag), tag: image.slice(tag + 1) },
    existingSecret: secretName,
    database: { ports: [Number(database.port || 5432)] },
    redis: { ports: [Number(redis.port || 6379)] },
    kafka: { brokers: stores.kafkaBrokers, ports: brokers.map(({ port }) => Number(port)) },
    ingress: { hosts: { live: hosts.live, sandbox: hosts.test, dashboard: hosts.dashboard } },
    logLevel: 'debug',
    // Suites send more requests per minute than the default limits allow.
    settings: { RATE_LIMIT_REQUESTS: 0, WORKSPACE_RATE_LIMIT_REQUESTS: 0 },
    observability: { otlp: { endpoint: collectorUrl }, sampler: 'always_on' },
    networkPolicy: {
      otlpPeers: [toPeer(`${gateAddress}/32`)],
      ingressPeers: ingressSources.map(toPeer),
      metricsPeers: [{ podSelector: { matchLabels: scraperLabels } }],
      databasePeers: peersOf([database]),
      redisPeers: peersOf([redis]),
      kafkaPeers: peersOf(brokers),
    },
    gateway: { trustedProxies: ingressSources, ...resources('50m', '512Mi') },
    auth: resources('20m', '384Mi'),
    resources: resources('20m', '512Mi'),
    webhooks: {
      egress: { allowHttp: true, allowCidrs: ['127.0.0.0/8', `${gateAddress}/32`] },
      ...resources('20m', '768Mi'),
    },
    alerts: resources('20m', '384Mi'),
    dashboard: resources('20m', '384Mi'),
    // Suites run several commands concurrently.
    cli: resources('10m', '1Gi'),
  };
}

function toPeer(cidr: string) {
  return { ipBlock: { cidr } };
}

/** Policies cannot match host names, so only IP addresses become peers. */
function peersOf(urls: readonly URL[]) {
  return urls.every(({ hostname }) => /^[\d.]+$/.test(hostname)) ? urls.map((url) => toPeer(`${url.hostname}/32`)) : [];
}
