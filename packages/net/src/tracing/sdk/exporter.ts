import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ConsoleSpanExporter, type SpanExporter } from '@opentelemetry/sdk-trace';
import { createHttpConnections, type ProxyChoice } from '../../dial/index.ts';
import { endpointOf, protocolOf } from './endpoint.ts';
import type { ExporterKind, TracingLog } from './sdk-options.ts';

/**
 * Creates the exporter named by the standard variables; the exporter reads its address and headers itself. Loads only
 * this exporter.
 */
export async function createExporter(
  kind: ExporterKind,
  env: NodeJS.ProcessEnv,
  proxyFor: ProxyChoice,
): Promise<SpanExporter> {
  if (kind === 'console') return new ConsoleSpanExporter();
  const protocol = protocolOf(env);
  if (protocol === 'http/protobuf') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
    return new OTLPTraceExporter({ httpAgentOptions: agentsOf(env, proxyFor) });
  }
  if (protocol === 'grpc') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
    chooseGrpcProxy(env, proxyFor);
    return new OTLPTraceExporter();
  }
  if (protocol === 'http/json') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    return new OTLPTraceExporter({ httpAgentOptions: agentsOf(env, proxyFor) });
  }
  throw new Error(`OTEL_EXPORTER_OTLP_PROTOCOL: "${protocol}" is not http/protobuf, grpc or http/json`);
}

/** Time for a connection to the collector; an export takes at most 10 s. */
const connectTimeoutMs = 5_000;

/**
 * Returns a function that creates the agent of an exporter. It opens connections as `connect` of @rms/net/dial does.
 * The exporter reads the standard variables for TLS only if it creates the agent itself.
 */
function agentsOf(env: NodeJS.ProcessEnv, proxyFor: ProxyChoice) {
  const read = (name: string) => {
    const path = env[`OTEL_EXPORTER_OTLP_TRACES_${name}`]?.trim() || env[`OTEL_EXPORTER_OTLP_${name}`]?.trim();
    return path ? readFileSync(path) : undefined;
  };
  return (protocol: string): HttpAgent => {
    const isTls = protocol === 'https:';
    const tls = { ca: read('CERTIFICATE'), cert: read('CLIENT_CERTIFICATE'), key: read('CLIENT_KEY') };
    const agent = isTls ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true });
    const createConnection = createHttpConnections({ isTls, timeoutMs: connectTimeoutMs, proxyFor });
    return Object.assign(agent, { createConnection });
  };
}

/**
 * Makes grpc-js connect to the collector as `proxyFor` says. It has no option for this exporter, but prefers these two
 * variables to the others, and no other client of this process reads them.
 */
function chooseGrpcProxy(env: NodeJS.ProcessEnv, proxyFor: ProxyChoice): void {
  const endpoint = endpointOf(env);
  const proxy = endpoint && proxyFor(endpoint);
  if (proxy?.protocol === 'https:')
    throw new Error('HTTPS_PROXY: must start with http:// if OTEL_EXPORTER_OTLP_PROTOCOL is grpc');
  if (!proxy) process.env.no_grpc_proxy = endpoint?.hostname;
  else {
    const url = new URL(`http://${proxy.host.includes(':') ? `[${proxy.host}]` : proxy.host}:${proxy.port}`);
    const [, basic = ''] = proxy.authorization?.split(' ') ?? [];
    const [user = '', ...password] = Buffer.from(basic, 'base64').toString().split(':');
    Object.assign(url, { username: user, password: password.join(':') });
    process.env.grpc_proxy = url.href;
    // Matches no name: without this variable, grpc-js would apply no_proxy in its own way.
    process.env.no_grpc_proxy = 'invalid.';
  }
}

/** An exporter that tracks its failures. */
export interface WatchedExporter extends SpanExporter {
  /** Returns whether the last export failed. */
  failing(): boolean;
}

/** Logs once when exports start to fail, and once when they succeed again. Spans of failed exports are lost. */
export function logOutages(exporter: SpanExporter, log: TracingLog): WatchedExporter {
  let lost = 0;
  return {
    failing: () => lost > 0,
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) {
          // Apart from messages of the collector, the reason only contains addresses and codes.
          if (lost === 0) log.warn({ reason: reasonOf(result.error) }, 'trace export failed; the traces are lost');
          lost += spans.length;
        } else if (lost > 0) {
          log.info({ lost }, 'trace export recovered');
          lost = 0;
        }
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

function reasonOf(error: Error | undefined): string {
  const { code, message } = (error ?? {}) as { code?: string | number; message?: string };
  return `${code ?? message ?? 'unknown'}`.slice(0, 200);
}
