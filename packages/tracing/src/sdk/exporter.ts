import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ConsoleSpanExporter, type SpanExporter } from '@opentelemetry/sdk-trace';
import { createHttpConnections } from '@rms/dial';
import type { ExporterKind, TracingLog } from './sdk-options.ts';

/**
 * Creates the exporter named by the standard variables; the exporter reads its address and headers itself. Loads only
 * this exporter.
 */
export async function createExporter(kind: ExporterKind, env: NodeJS.ProcessEnv): Promise<SpanExporter> {
  if (kind === 'console') return new ConsoleSpanExporter();
  const protocol =
    env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?.trim() || env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim() || 'http/protobuf';
  if (protocol === 'http/protobuf') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
    return new OTLPTraceExporter({ httpAgentOptions: agentsOf(env) });
  }
  if (protocol === 'grpc') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
    return new OTLPTraceExporter();
  }
  if (protocol === 'http/json') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    return new OTLPTraceExporter({ httpAgentOptions: agentsOf(env) });
  }
  throw new Error(`OTEL_EXPORTER_OTLP_PROTOCOL: "${protocol}" is not http/protobuf, grpc or http/json`);
}

/** Time for a connection to the collector; an export takes at most 10 s. */
const connectTimeoutMs = 5_000;

/**
 * Returns a function that creates the agent of an exporter. It opens connections as `connect` of packages/dial does. The
 * exporter reads the standard variables for TLS only if it creates the agent itself.
 */
function agentsOf(env: NodeJS.ProcessEnv) {
  const read = (name: string) => {
    const path = env[`OTEL_EXPORTER_OTLP_TRACES_${name}`]?.trim() || env[`OTEL_EXPORTER_OTLP_${name}`]?.trim();
    return path ? readFileSync(path) : undefined;
  };
  return (protocol: string): HttpAgent => {
    const isTls = protocol === 'https:';
    const tls = { ca: read('CERTIFICATE'), cert: read('CLIENT_CERTIFICATE'), key: read('CLIENT_KEY') };
    const agent = isTls ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true });
    return Object.assign(agent, { createConnection: createHttpConnections({ isTls, timeoutMs: connectTimeoutMs }) });
  };
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
