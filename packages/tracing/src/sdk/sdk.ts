import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { installTracer, type Tracer } from '../tracer.ts';
import { createExporter, tellOutages } from './exporter.ts';
import { KeepErrors } from './keep-errors.ts';
import { isReachable } from './reachable.ts';
import { recordAll, samplerOf } from './sampler.ts';
import type { SdkOptions, Tracing } from './sdk-options.ts';

/** The last spans have so long to go. */
const lastSpansMs = 1_000;

/** OpenTelemetry's SDK, as the standard variables (OTEL_*) set it up. Nothing else of it is loaded: no metrics, no logs. */
export async function createSdk({ serviceName, kind, env, log }: SdkOptions): Promise<{
  tracer: Tracer;
  tracing: Tracing;
}> {
  const exporter = tellOutages(await createExporter(kind, env), log);
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.namespace': 'rms' }))
      // Those of the environment last: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
      .merge(detectResources({ detectors: [hostDetector, envDetector] })),
    sampler: recordAll(samplerOf(env)),
    spanProcessors: [new KeepErrors(new BatchSpanProcessor(exporter))],
  });
  const tracer = provider.getTracer('rms');
  let flushed: Promise<void> | undefined;
  let reachable: Promise<boolean> | undefined;
  const ending = () => {
    reachable ??= kind === 'otlp' ? isReachable(env) : Promise.resolve(true);
    flushed ??= provider.forceFlush().catch(() => {});
  };
  const sendRest = async () => {
    ending();
    if (!(await reachable)) return;
    await flushed;
    await provider.shutdown().catch(() => {});
  };
  return {
    tracer: {
      start(name, { parent, startTime, ...options }) {
        const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
        return tracer.startSpan(name, startTime === undefined ? options : { ...options, startTime }, context);
      },
    },
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
