import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, createAlwaysRecordSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { installTracer, type Tracer } from '@rms/async/tracing';
import { readSettings } from '@rms/runtime/settings';
import { followHttpsProxy } from '../../dial/index.ts';
import { createExporter, logOutages } from './exporter.ts';
import { KeepErrors } from './keep-errors.ts';
import { batchOptionsOf, spanLimitsOf } from './limits.ts';
import { isReachable } from './reachable.ts';
import { samplerOf } from './sampler.ts';
import type { SdkOptions, Tracing } from './sdk-options.ts';
import { tracerOf } from './tracer-of.ts';

/** Maximum time to send the remaining spans. */
const lastSpansMs = 1_000;

/** Creates the OpenTelemetry SDK from the standard variables (OTEL_*). Loads only tracing: no metrics, no logs. */
export async function createSdk({ serviceName, kind, env, log }: SdkOptions): Promise<{
  tracer: Tracer;
  tracing: Tracing;
}> {
  const proxyFor = followHttpsProxy(readSettings(env, ['HTTPS_PROXY', 'NO_PROXY']))({
    info: (fields, message) => log.info(fields, message),
    error: (fields, message) => log.warn(fields, message),
  });
  const exporter = logOutages(await createExporter(kind, env, proxyFor), log);
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.namespace': 'rms' }))
      // Merged last, so that OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
      .merge(detectResources({ detectors: [hostDetector, envDetector] })),
    // Also records unsampled spans, because a failure is only known at a span's end.
    sampler: createAlwaysRecordSampler(samplerOf(env)),
    spanLimits: spanLimitsOf(env),
    spanProcessors: [new KeepErrors(new BatchSpanProcessor({ exporter, ...batchOptionsOf(env) }))],
  });
  let flushed: Promise<void> | undefined;
  let reachable: Promise<boolean> | undefined;
  const ending = () => {
    reachable ??= kind === 'otlp' ? isReachable(env, proxyFor) : Promise.resolve(true);
    flushed ??= provider.forceFlush().catch(() => {});
  };
  const sendRest = async () => {
    ending();
    if (!(await reachable)) return;
    await flushed;
    await provider.shutdown().catch(() => {});
  };
  return {
    tracer: tracerOf(provider.getTracer('rms')),
    tracing: {
      ending,
      async stop() {
        installTracer(undefined);
        if (exporter.failing()) return;
        let timer: NodeJS.Timeout | undefined;
        const limit = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, lastSpansMs);
        });
        await Promise.race([sendRest(), limit]);
        clearTimeout(timer);
      },
    },
  };
}
