import { run } from './run.ts';

/** The fields of an object that the tests use. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly uid?: string;
    readonly deletionTimestamp?: string;
  };
}

export interface Pod extends KubernetesObject {
  readonly spec: {
    readonly automountServiceAccountToken?: boolean;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly ready: boolean;
      readonly restartCount: number;
      readonly containerID?: string;
      readonly state: object;
    }[];
  };
}

/** kubectl in one namespace of KUBECONFIG's cluster. */
export interface Kubernetes {
  readonly namespace: string;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  get<T>(...args: string[]): Promise<T>;
  /** Lists all objects of a kind, optionally filtered by labels ("a=b,c"). */
  list<T extends KubernetesObject>(kind: string, selector?: string): Promise<T[]>;
  /** Creates or updates objects. */
  apply(...objects: object[]): Promise<void>;
  /** Runs a program in a pod ("pod/<name>", "deploy/<name>"). */
  exec(target: string, command: readonly string[], container?: string): Promise<string>;
}

export function kubernetesIn(namespace: string): Kubernetes {
  const kubectl = (args: readonly string[], input?: string) =>
    run('kubectl', ['--namespace', namespace, ...args], input === undefined ? {} : { input });
  return {
    namespace,
    kubectl,
    get: async (...args) => JSON.parse(await kubectl(['get', ...args, '--output', 'json'])),
    async list(kind, selector) {
      const args = selector === undefined ? [kind] : [kind, '--selector', selector];
      return JSON.parse(await kubectl(['get', ...args, '--output', 'json'])).items;
    },
    async apply(...objects) {
      await kubectl(['apply', '--filename', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    },
    exec: (target, command, container) =>
      kubectl(['exec', target, ...(container ? ['--container', container] : []), '--', ...command]),
  };
}

/** Whether a pod is ready and not terminating. */
export function isPodReady({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}
