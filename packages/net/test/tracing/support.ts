import {
  createAlwaysRecordSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { installTracer } from '@rms/async/tracing';
import { KeepErrors } from '../../src/tracing/sdk/keep-errors.ts';
import { samplerOf } from '../../src/tracing/sdk/sampler.ts';
import { tracerOf } from '../../src/tracing/sdk/tracer-of.ts';

/** Traces this process as the service does, into memory. `name` is a value of OTEL_TRACES_SAMPLER. */
export function traceInto(name: string) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: createAlwaysRecordSampler(samplerOf({ OTEL_TRACES_SAMPLER: name })),
    spanProcessors: [new KeepErrors(new SimpleSpanProcessor({ exporter }))],
  });
  installTracer(tracerOf(provider.getTracer('test')));
  return {
    spans: () => exporter.getFinishedSpans(),
    names: () => exporter.getFinishedSpans().map((span) => span.name),
    reset: () => exporter.reset(),
  };
}
