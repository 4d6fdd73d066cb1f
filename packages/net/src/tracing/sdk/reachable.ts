import { connect, hostOf, type ProxyChoice, portOf } from '../../dial/index.ts';
import { endpointOf } from './endpoint.ts';

const timeoutMs = 1_000;

/**
 * Checks whether the exporter's address, or the proxy in front of it, accepts connections. An exporter reports nothing
 * while it retries, and a process's exit must not wait for the retries. An unparsable address counts as reachable;
 * the exporter reports the error.
 */
export function isReachable(env: NodeJS.ProcessEnv, proxyFor: ProxyChoice): Promise<boolean> {
  const endpoint = endpointOf(env);
  if (!endpoint) return Promise.resolve(true);
  const { host, port } = proxyFor(endpoint) ?? { host: hostOf(endpoint.hostname), port: Number(portOf(endpoint)) };
  return connect({ host, port, timeoutMs }).then(
    (socket) => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}
