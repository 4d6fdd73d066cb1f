import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';

/** A Secret of Kubernetes, as far as we look at it. */
export interface Secret {
  readonly name: string;
  /** Decoded. */
  readonly data: Readonly<Record<string, string>>;
  /** Of what was read: a write in between makes ours fail. Undefined: the Secret is made. */
  readonly version?: string | undefined;
}

/** The Secrets of one namespace. All reject with an error that says what the API has said. */
export interface SecretStore {
  /** Undefined if there is none. */
  read(name: string): Promise<Secret | undefined>;
  write(secret: Secret, labels: Readonly<Record<string, string>>): Promise<void>;
  /** False if there was none. */
  remove(name: string): Promise<boolean>;
}

/** Another has written what we were about to write: read it again. */
export class WrittenMeanwhile extends Error {
  override readonly name = 'WrittenMeanwhile';
}

export interface ApiServer {
  readonly host: string;
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  readonly namespace: string;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
const timeoutMs = 15_000;

/** The API server as a pod finds it, as the service account of the pod. */
export function apiServerOfPod(env: NodeJS.ProcessEnv = process.env, folder = accountFolder): ApiServer {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) throw new Error('this runs in a pod of Kubernetes only: KUBERNETES_SERVICE_HOST is not set');
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name), 'utf8').trim();
    } catch (error) {
      throw new Error(`the pod has no service account token (${(error as NodeJS.ErrnoException).code})`);
    }
  };
  return { host, port: Number(port), ca: read('ca.crt'), token: read('token'), namespace: read('namespace') };
}

export function createSecretStore(server: ApiServer): SecretStore {
  const secrets = `/api/v1/namespaces/${server.namespace}/secrets`;
  const fail = (action: string, name: string, { status, text }: Answer): never => {
    if (status === 409) throw new WrittenMeanwhile(`secret ${name} was written by another meanwhile`);
    throw new Error(`secret ${name} cannot be ${action}: ${status} ${messageOf(text)}`);
  };
  return {
    async read(name) {
      const answer = await call(server, 'GET', `${secrets}/${name}`);
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) return fail('read', name, answer);
      const { metadata, data = {} } = JSON.parse(answer.text) as KubernetesSecret;
      const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]);
      return { name, data: Object.fromEntries(decoded), version: metadata.resourceVersion };
    },
    async write({ name, data, version }, labels) {
      const metadata = { name, labels, ...(version === undefined ? {} : { resourceVersion: version }) };
      const body = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData: data };
      const answer =
        version === undefined
          ? await call(server, 'POST', secrets, body)
          : await call(server, 'PUT', `${secrets}/${name}`, body);
      if (answer.status !== 200 && answer.status !== 201) fail('written', name, answer);
    },
    async remove(name) {
      const answer = await call(server, 'DELETE', `${secrets}/${name}`);
      if (answer.status === 404) return false;
      if (answer.status !== 200 && answer.status !== 202) fail('removed', name, answer);
      return true;
    },
  };
}

interface KubernetesSecret {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function call(server: ApiServer, method: string, path: string, body?: object): Promise<Answer> {
  const { host, port, ca, token } = server;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ host, port, ca, method, path, timeout: timeoutMs },
        headers: {
          Authorization: `Bearer ${token}`,
          Accept: 'application/json',
          ...(body ? { 'Content-Type': 'application/json' } : {}),
        },
      },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk) => {
          text += chunk;
        });
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
        incoming.on('error', reject);
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`the API server does not answer within ${timeoutMs} ms`)));
    outgoing.on('error', reject);
    outgoing.end(body ? JSON.stringify(body) : undefined);
  });
}

/** A Status of Kubernetes says what is wrong; the answer to a write never holds more than that. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: string }).message ?? '');
  } catch {
    return '';
  }
}
