import { connect } from 'node:net';

/**
 * Whether somebody listens where traces go. An exporter would not tell for as long as it tries again, and the end of a
 * process must not wait for that. An address that cannot be read counts as reachable: the exporter knows better.
 */
export function isReachable(env: NodeJS.ProcessEnv): Promise<boolean> {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const standard = `http://localhost:${protocol?.trim() === 'grpc' ? 4317 : 4318}`;
  const address = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT || standard;
  const text = address.includes('://') ? address : `http://${address}`;
  if (!URL.canParse(text)) return Promise.resolve(true);
  const { hostname, port, protocol: scheme } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) || (scheme === 'https:' ? 443 : 80) });
    const answer = (reachable: boolean) => {
      socket.destroy();
      resolve(reachable);
    };
    socket.unref();
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
