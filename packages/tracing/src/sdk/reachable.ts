import { connect } from '@rms/dial';

const timeoutMs = 1_000;

/**
 * Checks whether the exporter's address accepts connections. An exporter reports nothing while it retries, and the exit
 * of a process must not wait for the retries. An unparsable address counts as reachable; the exporter reports the
 * error.
 */
export function isReachable(env: NodeJS.ProcessEnv): Promise<boolean> {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const standard = `http://localhost:${protocol?.trim() === 'grpc' ? 4317 : 4318}`;
  const address = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT || standard;
  const text = address.includes('://') ? address : `http://${address}`;
  if (!URL.canParse(text)) return Promise.resolve(true);
  const { hostname: host, port, protocol: scheme } = new URL(text);
  return connect({ host, port: Number(port) || (scheme === 'https:' ? 443 : 80), timeoutMs }).then(
    (socket) => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}
