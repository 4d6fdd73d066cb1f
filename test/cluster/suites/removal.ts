import { waitUntil } from '@rms/testkit';
import { type KubernetesObject, kubernetesIn } from '../support/kubernetes.ts';
import type { Stage } from '../support/stage.ts';
import { secretName } from '../support/values.ts';

/** What Kubernetes itself keeps in a namespace, and what tells of the past only. */
const ofKubernetes = ['configmap/kube-root-ca.crt', 'serviceaccount/default'];
const ephemeral = /^(events|events\.events\.k8s\.io|podmetrics\.metrics\.k8s\.io|leases\.coordination\.k8s\.io)$/;

export function removalSuite(stage: () => Stage): void {
  describe('helm uninstall', () => {
    test('leaves nothing behind, in the namespace or outside of it', async () => {
      const { release, clusterObjects } = stage();
      await release.uninstall();
      const left = async () =>
        (await objectsIn(release.kubernetes.namespace)).filter((name) => !ofKubernetes.includes(name));
      // Pods go on for as long as their requests do. What stays after that is told by its name.
      await waitUntil(async () => (await left()).length === 1, {
        what: 'the pods to end',
        timeoutMs: 60_000,
        everyMs: 500,
      }).catch(() => {});
      expect(await left()).toEqual([`secret/${secretName}`]);
      const before = new Set(clusterObjects);
      expect((await objectsOfCluster()).filter((name) => !before.has(name))).toEqual([]);
    }, 360_000);
  });
}

/** "kind/name" of every object in a namespace, of whatever kind. */
async function objectsIn(namespace: string): Promise<string[]> {
  const { kubectl } = kubernetesIn(namespace);
  return list(kubectl, await kinds(kubectl, '--namespaced=true'));
}

/** "kind/name" of every object that is in no namespace. */
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
