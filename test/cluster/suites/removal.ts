import { waitUntil } from '@rms/testkit';
import { type KubernetesObject, kubernetesIn } from '../support/kubernetes.ts';
import type { Stage } from '../support/stage.ts';
import { secretName } from '../support/values.ts';

/** Objects that Kubernetes keeps in every namespace, and kinds of objects that it creates and deletes itself. */
const ofKubernetes = ['configmap/kube-root-ca.crt', 'serviceaccount/default'];
const ephemeral = /^(events|events\.events\.k8s\.io|podmetrics\.metrics\.k8s\.io|leases\.coordination\.k8s\.io)$/;

export function removalSuite(stage: () => Stage): void {
  describe('helm uninstall', () => {
    test('removes every object, in the namespace and outside it', async () => {
      const { release, clusterObjects } = stage();
      await release.uninstall();
      const remaining = async () =>
        (await objectsIn(release.kubernetes.namespace)).filter((name) => !ofKubernetes.includes(name));
      // Pods keep running until their requests are done. The assertion below names any object that remains.
      await waitUntil(async () => (await remaining()).length === 1, {
        what: 'the pods to end',
        timeoutMs: 60_000,
        everyMs: 500,
      }).catch(() => {});
      expect(await remaining()).toEqual([`secret/${secretName}`]);
      const before = new Set(clusterObjects);
      expect((await objectsOfCluster()).filter((name) => !before.has(name))).toEqual([]);
    }, 360_000);
  });
}

/** Returns "kind/name" of every object of any kind in a namespace. */
async function objectsIn(namespace: string): Promise<string[]> {
  const { kubectl } = kubernetesIn(namespace);
  return list(kubectl, await kinds(kubectl, '--namespaced=true'));
}

/** Returns "kind/name" of every cluster-scoped object. */
export async function objectsOfCluster(): Promise<string[]> {
  const { kubectl } = kubernetesIn('default');
  return list(kubectl, await kinds(kubectl, '--namespaced=false'));
}

type Kubectl = ReturnType<typeof kubernetesIn>['kubectl'];

async function kinds(kubectl: Kubectl, scope: string): Promise<string[]> {
  const output = await kubectl(['api-resources', '--verbs=list', scope, '--output=name']);
  return output.split('\n').filter((kind) => kind !== '' && !ephemeral.test(kind) && !kind.endsWith('.metrics.k8s.io'));
}

async function list(kubectl: Kubectl, all: readonly string[]): Promise<string[]> {
  const output = await kubectl(['get', all.join(','), '--ignore-not-found', '--output=json']);
  const { items } = (output === '' ? { items: [] } : JSON.parse(output)) as { items: KubernetesObject[] };
  return items.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`).sort();
}
