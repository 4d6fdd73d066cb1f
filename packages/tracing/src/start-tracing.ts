import type { ExporterKind, Tracing, TracingLog } from './sdk/sdk-options.ts';
import { installTracer } from './tracer.ts';

export interface StartTracingOptions {
  /** `service.name` unless OTEL_SERVICE_NAME says otherwise: "rms-gateway". */
  readonly serviceName: string;
  readonly log: TracingLog;
  /** Default: process.env, which OpenTelemetry reads as well. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Begins tracing if OpenTelemetry's standard variables name an exporter; else loads nothing, and answers undefined.
 * Throws an error whose message names the variable that is wrong.
 */
export async function startTracing({
  serviceName,
  log,
  env = process.env,
}: StartTracingOptions): Promise<Tracing | undefined> {
  const kind = exporterKind(env);
  if (kind === 'none') return undefined;
  const { createSdk } = await import('./sdk/sdk.ts');
  const sdk = await createSdk({ serviceName, kind, env, log });
  installTracer(sdk.tracer);
  return sdk.tracing;
}

/** The specification's default is an exporter to this machine; here who names neither exporter nor endpoint wants none. */
function exporterKind(env: NodeJS.ProcessEnv): ExporterKind {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return 'none';
  const named = env.OTEL_TRACES_EXPORTER?.trim() ?? '';
  if (named === 'otlp' || named === 'console' || named === 'none') return named;
  if (named !== '') throw new Error(`OTEL_TRACES_EXPORTER: "${named}" is not otlp, console or none`);
  return env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ? 'otlp' : 'none';
}
