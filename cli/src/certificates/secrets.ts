import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createHttpConnections } from '@rms/net/dial';

/** Kubernetes Secret, with the fields that this command uses. */
export interface Secret {
  readonly name: string;
  /** Values, decoded from Base64. */
  readonly data: Readonly<Record<string, string>>;
  /** Resource version that was read. A write fails if it has changed since. Undefined to create the Secret. */
  readonly version?: string | undefined;
}

/** Secrets of a namespace. Every method rejects with the Kubernetes API's message. */
export interface SecretStore {
  /** Returns undefined if the Secret does not exist. */
  read(name: string): Promise<Secret | undefined>;
  write(secret: Secret, labels: Readonly<Record<string, string>>): Promise<void>;
  /** Returns false if the Secret did not exist. */
  remove(name: string): Promise<boolean>;
}

/** The Secret was changed by another writer. Read it again and retry. */
export class WrittenMeanwhile extends Error {
  override readonly name = 'WrittenMeanwhile';
}

export interface ApiServer {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly token: string;
  readonly namespace: string;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
const timeoutMs = 15_000;

/** Returns the API server's address and the pod's service account credentials. */
export function apiServerOfPod(env: NodeJS.ProcessEnv = process.env, folder = accountFolder): ApiServer {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port)
    throw new Error('This command runs only in a Kubernetes pod: KUBERNETES_SERVICE_HOST is not set.');
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name), 'utf8').trim();
    } catch (error) {
      throw new Error(
        `The pod has no service account token (${(error as NodeJS.ErrnoException).code}). Set automountServiceAccountToken.`,
      );
    }
  };
  return { host, port: Number(port), ca: read('ca.crt'), token: read('token'), namespace: read('namespace') };
}

export function createSecretStore(server: ApiServer): SecretStore {
  const secrets = `/api/v1/namespaces/${server.namespace}/secrets`;
  const fail = (action: string, name: string, { status, text }: Response): never => {
    if (status === 409) throw new WrittenMeanwhile(`Secret ${name} was changed concurrently.`);
    throw new Error(`Secret ${name} cannot be ${action}: ${status} ${messageOf(text)}`);
  };
  return {
    async read(name) {
      const response = await call(server, 'GET', `${secrets}/${name}`);
      if (response.status === 404) return undefined;
      if (response.status !== 200) return fail('read', name, response);
      const { metadata, data = {} } = JSON.parse(response.text) as KubernetesSecret;
      const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]);
      return { name, data: Object.fromEntries(decoded), version: metadata.resourceVersion };
    },
    async write({ name, data, version }, labels) {
      const metadata = { name, labels, ...(version === undefined ? {} : { resourceVersion: version }) };
      const body = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData: data };
      const response =
        version === undefined
          ? await call(server, 'POST', secrets, body)
          : await call(server, 'PUT', `${secrets}/${name}`, body);
      if (response.status !== 200 && response.status !== 201) fail('written', name, response);
    },
    async remove(name) {
      const response = await call(server, 'DELETE', `${secrets}/${name}`);
      if (response.status === 404) return false;
      if (response.status !== 200 && response.status !== 202) fail('removed', name, response);
      return true;
    },
  };
}

interface KubernetesSecret {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface Response {
  readonly status: number;
  readonly text: string;
}

function call(server: ApiServer, method: string, path: string, body?: object): Promise<Response> {
  const { host, port, ca, token } = server;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ host, port, ca, method, path, timeout: timeoutMs },
        createConnection: createHttpConnections({ isTls: true, timeoutMs }),
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
    outgoing.on('timeout', () => outgoing.destroy(new Error(`The API server did not respond within ${timeoutMs} ms.`)));
    outgoing.on('error', reject);
    outgoing.end(body ? JSON.stringify(body) : undefined);
  });
}

/** Returns a Kubernetes Status's message. It never contains Secret data. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: string }).message ?? '');
  } catch {
    return '';
  }
}
