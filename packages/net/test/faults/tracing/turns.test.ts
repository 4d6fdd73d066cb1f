import { ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  createAlwaysRecordSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { turnLoop } from '@rms/testkit';
import { logOutages } from '../../../src/tracing/sdk/exporter.ts';
import { KeepErrors } from '../../../src/tracing/sdk/keep-errors.ts';

test('100,000 turns of spans, whose exports succeed and fail, leave nothing behind', async () => {
  let exported = 0;
  let exports = 0;
  const exporter = logOutages(
    {
      export(spans, done) {
        exports += 1;
        exported += spans.length;
        const error = new Error('the collector is unavailable');
        setTimeout(() => done(exports % 2 === 0 ? { code: 1, error } : { code: 0 }), 10);
      },
      shutdown: async () => {},
    },
    { info() {}, warn() {}, error() {} } as never,
  );
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    const provider = new TracerProvider({
      sampler: createAlwaysRecordSampler(new AlwaysOffSampler()),
      spanProcessors: [new KeepErrors(new BatchSpanProcessor({ exporter }))],
    });
    const tracer = provider.getTracer('test');
    for (let turn = 0; !signal.aborted; turn += 1) {
      const span = tracer.startSpan('turn', {}, ROOT_CONTEXT);
      // Only spans of failures are exported.
      if (turn % 2 === 0) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await provider.shutdown();
  });
  expect(exported).toBeGreaterThan(10_000);
  expect(bytesPerTurn).toBeLessThan(16);
});
