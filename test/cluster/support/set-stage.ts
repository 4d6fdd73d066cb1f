import { randomBytes } from 'node:crypto';
import { startOtlpCollector, waitUntil } from '@rms/testkit';
import type { Dispatcher } from 'undici';
import type { Shape } from '../../api/support/shape.ts';
import { objectsOfCluster } from '../suites/removal.ts';
import { hosts, ingressAt } from './ingress.ts';
import type { KubernetesObject } from './kubernetes.ts';
import { type Release, releaseIn } from './release.ts';
import type { Stage } from './stage.ts';
import { openStores } from './stores.ts';
import { startTools } from './tools.ts';
import { givenSecret, releaseValues } from './values.ts';

/** An installed and ready release, with the resources that the suites need. */
export interface StagedRelease {
  readonly stage: Omit<Stage, 'newAccount'>;
  readonly shape: Shape & { readonly dispatcher: Dispatcher };
  remove(): Promise<void>;
}

interface IngressObject extends KubernetesObject {
  readonly status: { readonly loadBalancer?: { readonly ingress?: readonly { ip?: string; hostname?: string }[] } };
}

/** Installs the chart as an operator would, into a new namespace of KUBECONFIG's cluster. */
export async function setStage(env = process.env): Promise<StagedRelease> {
  const { IMAGE: image } = env;
  if (!image) throw new Error('IMAGE is not set; run these tests with `npm run test:cluster`');
  const namespace = `rms-test-${randomBytes(3).toString('hex')}`;
  const release = await releaseIn(namespace);
  const undo: (() => Promise<unknown>)[] = [];
  const remove = async () => {
    delete process.env.TEST_RECEIVERS_URL;
    for (const step of undo.reverse()) await step();
  };
  try {
    const stores = await openStores(env);
    undo.push(() => stores.stop());
    const collector = await startOtlpCollector();
    undo.push(() => collector.stop());
    const tools = await startTools(`${namespace}-tools`, image);
    undo.push(() => tools.remove());
    process.env.TEST_RECEIVERS_URL = tools.receiversUrl;

    const { kubernetes } = release;
    await kubernetes.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    undo.push(() => kubernetes.kubectl(['delete', 'namespace', namespace, '--wait=false']));
    const encryptionKey = randomBytes(32).toString('base64');
    const sessionKey = randomBytes(32).toString('base64');
    await kubernetes.apply(givenSecret(stores, { encryptionKey, sessionKey }));
    const clusterObjects = await objectsOfCluster();
    const ingressSources = (env.TEST_INGRESS_SOURCES ?? '').split(',').filter(Boolean);
    const { gateAddress, tracesUrl } = tools;
    const collectorUrl = tracesUrl(collector);
    const values = releaseValues({ image, stores, hosts, ingressSources, gateAddress, collectorUrl });
    undo.push(() => describeFailure(release));
    await release.install(values);
    undo.pop();
    const ingress = ingressAt(env.TEST_INGRESS_URL || (await addressOf(release)));
    undo.push(() => ingress.dispatcher.close());
    return {
      stage: {
        release,
        tools,
        ingress,
        image,
        stores,
        collector,
        clusterObjects,
        secrets: [encryptionKey, sessionKey, stores.databaseUrl, stores.redisUrl],
      },
      shape: {
        liveUrl: `http://${hosts.live}`,
        sandboxUrl: `http://${hosts.test}`,
        dispatcher: ingress.dispatcher,
        clientNetwork: env.TEST_CLIENT_NETWORK || '127.0.0.0/8',
        rms: release.rms,
      },
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Prints the namespace's state after a failed installation. */
async function describeFailure({ kubernetes }: Release): Promise<void> {
  for (const args of [
    ['get', 'pods,jobs', '--output', 'wide'],
    ['get', 'events', '--sort-by', '.lastTimestamp', '--field-selector', 'type=Warning'],
    ['logs', '--selector', 'app.kubernetes.io/name=rms', '--prefix', '--tail', '20', '--ignore-errors'],
  ]) {
    process.stderr.write(`${await kubernetes.kubectl(args).catch(String)}\n`);
  }
}

/** Returns the address in the Ingress status. */
async function addressOf({ kubernetes }: Release): Promise<string> {
  return waitUntil(
    async () => {
      const [ingress] = await kubernetes.list<IngressObject>('ingresses');
      const [address] = ingress?.status.loadBalancer?.ingress ?? [];
      const host = address?.ip ?? address?.hostname;
      return host && `http://${host}`;
    },
    { what: 'an address in the status of the Ingress (or set TEST_INGRESS_URL)', timeoutMs: 60_000 },
  );
}
