import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import {
  createAlwaysRecordSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { installTracer, type Tracer } from '../src/index.ts';
import { KeepErrors } from '../src/sdk/keep-errors.ts';
import { samplerOf } from '../src/sdk/sampler.ts';

/** Traces this process as the service does, into memory. `name` is a value of OTEL_TRACES_SAMPLER. */
export function traceInto(name: string) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: createAlwaysRecordSampler(samplerOf({ OTEL_TRACES_SAMPLER: name })),
    spanProcessors: [new KeepErrors(new SimpleSpanProcessor({ exporter }))],
  });
  const sdk = provider.getTracer('test');
  const tracer: Tracer = {
    start(spanName, { parent, startTime, ...options }) {
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      return sdk.startSpan(spanName, startTime === undefined ? options : { ...options, startTime }, context);
    },
  };
  installTracer(tracer);
  return {
    spans: () => exporter.getFinishedSpans(),
    names: () => exporter.getFinishedSpans().map((span) => span.name),
    reset: () => exporter.reset(),
  };
}
