/** Returns the exporter's protocol. */
export function protocolOf(env: NodeJS.ProcessEnv): string {
  return env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?.trim() || env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim() || 'http/protobuf';
}

/** Returns the exporter's address; undefined if it cannot be parsed, which the exporter reports. */
export function endpointOf(env: NodeJS.ProcessEnv): URL | undefined {
  const isGrpc = protocolOf(env) === 'grpc';
  const standard = `http://localhost:${isGrpc ? 4317 : 4318}`;
  const address = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim() || env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || standard;
  // Without a scheme, the gRPC exporter uses TLS.
  const text = address.includes('://') ? address : `${isGrpc ? 'https' : 'http'}://${address}`;
  return URL.canParse(text) ? new URL(text) : undefined;
}
