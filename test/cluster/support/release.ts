import { join } from 'node:path';
import { resultOf, waitUntil } from '@rms/testkit';
import { isPodReady, type Kubernetes, kubernetesIn, type Pod } from './kubernetes.ts';
import { CommandError, run } from './run.ts';

/** Components that the chart installs. */
export const components = ['gateway', 'auth', 'resources', 'webhooks', 'alerts', 'dashboard', 'cli'] as const;

export type Component = (typeof components)[number];

export interface Revision {
  readonly revision: number;
  readonly status: string;
  readonly description: string;
}

/** An installation of the chart in a separate namespace. */
export interface Release {
  readonly kubernetes: Kubernetes;
  readonly name: string;
  install(values: object): Promise<void>;
  /** Upgrades, keeping earlier values. Fails and rolls back if the release is not ready in time. */
  upgrade(values: object, timeoutMs?: number): Promise<void>;
  test(): Promise<string>;
  history(): Promise<Revision[]>;
  uninstall(): Promise<void>;
  /** Pods of a component that are not terminating. */
  pods(component: Component): Promise<Pod[]>;
  /** Waits until all pods of a component are ready and none is terminating. */
  waitForPods(component: Component, count?: number): Promise<Pod[]>;
  /** Runs the `rms` command in the cli pod. */
  rms<T>(...args: string[]): Promise<T>;
}

const chart = join(import.meta.dirname, '..', '..', '..', 'deploy', 'helm', 'rms');
const readyTimeoutMs = 240_000;

export async function releaseIn(namespace: string, name = 'rms'): Promise<Release> {
  const kubernetes = kubernetesIn(namespace);
  const version = await run('helm', ['version', '--short']);
  // Helm 3 has a different name for the option.
  const rollback = /^v?3\./.test(version.trim()) ? '--atomic' : '--rollback-on-failure';
  const helm = (args: string[], values?: object, timeoutMs = readyTimeoutMs) => {
    const given = values === undefined ? [] : ['--values', '-'];
    const input = values === undefined ? {} : { input: JSON.stringify(values) };
    // Helm stops by itself after its timeout, and then may need time to roll back.
    return run('helm', ['--namespace', namespace, ...args, ...given], { timeoutMs: timeoutMs * 2 + 60_000, ...input });
  };
  const inSeconds = (timeoutMs: number) => `${Math.ceil(timeoutMs / 1_000)}s`;
  const selector = (component: string) => `app.kubernetes.io/instance=${name},app.kubernetes.io/component=${component}`;
  const all = (component: Component) => kubernetes.list<Pod>('pods', selector(component));
  const wait = ['--wait', '--timeout', inSeconds(readyTimeoutMs)];
  return {
    kubernetes,
    name,
    install: async (values) => void (await helm(['install', name, chart, ...wait], values)),
    async upgrade(values, timeoutMs = readyTimeoutMs) {
      const args = ['upgrade', name, chart, '--reuse-values', rollback, '--timeout', inSeconds(timeoutMs)];
      await helm(args, values, timeoutMs);
    },
    test: () => helm(['test', name, '--timeout', inSeconds(120_000)]),
    history: async () => JSON.parse(await helm(['history', name, '--output', 'json'])),
    uninstall: async () => void (await helm(['uninstall', ...wait, name])),
    pods: async (component) => (await all(component)).filter(({ metadata }) => !metadata.deletionTimestamp),
    waitForPods: (component, count) =>
      waitUntil(
        async () => {
          const pods = await all(component);
          return pods.length > 0 && (count ?? pods.length) === pods.length && pods.every(isPodReady) && pods;
        },
        { what: `all pods of ${component} to be ready`, timeoutMs: 120_000, everyMs: 500 },
      ),
    async rms<T>(...args: string[]): Promise<T> {
      try {
        const output = await kubernetes.exec(`deploy/${name}-cli`, ['rms', ...args, '--json']);
        return resultOf(output) as T;
      } catch (error) {
        const text = error instanceof CommandError ? error.stderr : String(error);
        const reason = text.replace(/command terminated with exit code \d+/, '').trim();
        throw new Error(`rms ${args.join(' ')}: ${reason}`, { cause: error });
      }
    },
  };
}
