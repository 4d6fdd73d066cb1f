import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OtlpCollector, waitUntil } from '@rms/testkit';
import { request } from 'undici';
import { isPodReady, type Kubernetes, kubernetesIn, type Pod } from './kubernetes.ts';
import { forwardPort } from './port-forward.ts';
import { openTunnel } from './tunnel.ts';

/** Deliveries that a sink in the cluster has received. */
export interface SinkState {
  /** Number of arrivals per resource id. */
  readonly arrivals: ReadonlyMap<string, number>;
  readonly wrongSignatures: number;
}

/** Pods of the tests, in a separate namespace next to the release under test. */
export interface Tools {
  readonly kubernetes: Kubernetes;
  /** Address of the gate, which webhooks call. */
  readonly gateAddress: string;
  /** Base URL of the tests' receivers; the value of TEST_RECEIVERS_URL. */
  readonly receiversUrl: string;
  /** Returns the URL that pods send traces to, for a test collector. */
  tracesUrl(collector: OtlpCollector): string;
  /** Creates a sink that counts deliveries signed with this secret. */
  openSink(name: string, secret: string): Promise<void>;
  sinkUrl(name: string): string;
  readSink(name: string): Promise<SinkState>;
  /** Sends SIGKILL to process 1 of a pod's container. */
  kill(pod: string): Promise<void>;
  remove(): Promise<void>;
}

const pods = join(import.meta.dirname, '..', 'pods');
const port = 9000;
const tracesPort = 4318;
const controlPort = 9001;

/** Starts the gate, and a pod that sees the processes of its node; `image` must contain Node. */
export async function startTools(namespace: string, image: string): Promise<Tools> {
  const kubernetes = kubernetesIn(namespace);
  await kubernetes.apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
  });
  const data = Object.fromEntries(
    ['gate.mjs', 'kill.mjs'].map((name) => [name, readFileSync(join(pods, name), 'utf8')]),
  );
  await kubernetes.apply(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'programs' }, data },
    pod(image, 'gate', ['/programs/gate.mjs']),
    pod(image, 'killer', ['-e', 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1e6)'], {
      hostPID: true,
    }),
  );
  const running = await waitUntil(
    async () => {
      const found = await kubernetes.list<Pod>('pods');
      return found.length === 2 && found.every(isPodReady) && found;
    },
    { what: 'the pods of the tests', timeoutMs: 90_000, everyMs: 500 },
  );
  const gateAddress = running.find(({ metadata }) => metadata.name === 'gate')?.status.podIP ?? '';
  const control = await forwardPort(namespace, 'pod/gate', controlPort);
  const tunnel = openTunnel(control.url);
  return {
    kubernetes,
    gateAddress,
    receiversUrl: `http://${gateAddress}:${port}`,
    tracesUrl: ({ env }) => {
      const { port: collectorPort } = new URL(env.http.OTEL_EXPORTER_OTLP_ENDPOINT ?? '');
      return `http://${gateAddress}:${tracesPort}/${collectorPort}`;
    },
    sinkUrl: (name) => `http://${gateAddress}:${port}/sinks/${name}`,
    async openSink(name, secret) {
      const body = JSON.stringify({ secret });
      const response = await request(`${control.url}/sinks/${name}`, { method: 'PUT', body });
      if (response.statusCode !== 204) throw new Error(`the gate returned ${response.statusCode}`);
    },
    async readSink(name) {
      const response = await request(`${control.url}/sinks/${name}`);
      if (response.statusCode !== 200) throw new Error(`the gate returned ${response.statusCode}`);
      const state = (await response.body.json()) as { arrivals: [string, number][]; wrongSignatures: number };
      return { arrivals: new Map(state.arrivals), wrongSignatures: state.wrongSignatures };
    },
    kill: async (name) => void (await kubernetes.exec('pod/killer', ['node', '/programs/kill.mjs', name])),
    async remove() {
      await tunnel.close();
      await control.stop();
      await kubernetes.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    },
  };
}

/** Returns a pod that runs one of the programs as root, so that it can kill processes of other users. */
function pod(image: string, name: string, args: string[], spec: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      ...spec,
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [
        {
          name,
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['node', ...args],
          securityContext: { runAsUser: 0, privileged: 'hostPID' in spec },
          volumeMounts: [{ name: 'programs', mountPath: '/programs' }],
        },
      ],
      volumes: [{ name: 'programs', configMap: { name: 'programs' } }],
    },
  };
}
