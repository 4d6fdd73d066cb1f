import { installTracer } from '@rms/async/tracing';
import type { ExporterKind, Tracing, TracingLog } from './sdk/sdk-options.ts';

export interface StartTracingOptions {
  /** Default of `service.name`, which OTEL_SERVICE_NAME overrides: "rms-gateway". */
  readonly serviceName: string;
  readonly log: TracingLog;
  /** Default: process.env, which OpenTelemetry also reads. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Starts tracing if OpenTelemetry's standard variables configure an exporter. Otherwise it loads nothing and returns
 * undefined. Throws an error that identifies the invalid variable.
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

/**
 * Determines the exporter. Without a named exporter or an endpoint, the default is none; OpenTelemetry's
 * default is an exporter to localhost.
 */
function exporterKind(env: NodeJS.ProcessEnv): ExporterKind {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return 'none';
  const named = env.OTEL_TRACES_EXPORTER?.trim() ?? '';
  if (named === 'otlp' || named === 'console' || named === 'none') return named;
  if (named !== '') throw new Error(`OTEL_TRACES_EXPORTER: "${named}" is not otlp, console or none`);
  return env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ? 'otlp' : 'none';
}
