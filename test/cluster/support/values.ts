import type { Stores } from './stores.ts';

export interface ValueOptions {
  /** "repository:tag" */
  readonly image: string;
  readonly stores: Stores;
  readonly hosts: { readonly live: string; readonly test: string };
  /** CIDRs that the ingress' requests come from. */
  readonly ingressSources: readonly string[];
  readonly gateAddress: string;
  /** Where traces are sent. */
  readonly collectorUrl: string;
}

/** The Secret that an operator makes before the installation. */
export const secretName = 'rms-given';

export function givenSecret({ databaseUrl, redisUrl }: Stores, encryptionKey: string): object {
  const stringData = { 'database-url': databaseUrl, 'redis-url': redisUrl, 'encryption-key': encryptionKey };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: secretName }, stringData };
}

/** Labels of a pod that may read metrics. */
export const scraperLabels = { role: 'scraper' };

/** Values as an operator would write them, but for sizes: everything fits on a node with two cores, and beside others. */
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
    ingress: { hosts: { live: hosts.live, sandbox: hosts.test } },
    logLevel: 'debug',
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
    // Suites run several commands at once.
    cli: resources('10m', '1Gi'),
  };
}

function toPeer(cidr: string) {
  return { ipBlock: { cidr } };
}

/** Only what is named by its address: policies know no names. */
function peersOf(urls: readonly URL[]) {
  return urls.every(({ hostname }) => /^[\d.]+$/.test(hostname)) ? urls.map((url) => toPeer(`${url.hostname}/32`)) : [];
}
