import { Agent, buildConnector } from 'undici';
import type { Ingress } from './stage.ts';

export const hosts = { live: 'api.rms.test', test: 'sandbox.rms.test', dashboard: 'dashboard.rms.test' };

/** Returns the API behind an ingress controller that listens at `url`. */
export function ingressAt(url: string): Ingress {
  const { hostname, port } = new URL(url);
  const connect = buildConnector({});
  const dispatcher = new Agent({
    keepAliveTimeout: 1_000,
    connect: (options, callback) => connect({ ...options, hostname, port: port || '80' }, callback),
  });
  return { url: new URL(url).origin, hosts, dispatcher };
}
