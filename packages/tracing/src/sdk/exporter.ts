import { ConsoleSpanExporter, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { ExporterKind, TracingLog } from './sdk-options.ts';

/** The exporter that the standard variables name, whose address and headers it reads from them itself. Loads no other. */
export async function createExporter(kind: ExporterKind, env: NodeJS.ProcessEnv): Promise<SpanExporter> {
  if (kind === 'console') return new ConsoleSpanExporter();
  const protocol =
    env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?.trim() || env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim() || 'http/protobuf';
  if (protocol === 'http/protobuf') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
    return new OTLPTraceExporter();
  }
  if (protocol === 'grpc') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
    return new OTLPTraceExporter();
  }
  if (protocol === 'http/json') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    return new OTLPTraceExporter();
  }
  throw new Error(`OTEL_EXPORTER_OTLP_PROTOCOL: "${protocol}" is not http/protobuf, grpc or http/json`);
}

/** An exporter that knows how it fares. */
export interface WatchedExporter extends SpanExporter {
  /** Whether the last that it had to send was not taken. */
  failing(): boolean;
}

/** Says once that the collector takes nothing, and once that it does again. What it has not taken is lost. */
export function tellOutages(exporter: SpanExporter, log: TracingLog): WatchedExporter {
  let lost = 0;
  return {
    failing: () => lost > 0,
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) {
          // Its text, but for the collector's own words, is of addresses and codes.
          if (lost === 0) log.warn({ reason: reasonOf(result.error) }, 'traces cannot be exported; they are lost');
          lost += spans.length;
        } else if (lost > 0) {
          log.info({ lost }, 'traces are exported again');
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
