import {
  activeSpans,
  activeTraceContext,
  endSpan,
  inSpans,
  installTracer,
  outsideSpans,
  parseTraceContext,
  type Span,
  spanKind,
  startSpan,
  traceContextOf,
  traced,
} from '@rms/async/tracing';
import { RmsError } from '@rms/base/errors';
import { traceInto } from './support.ts';

const step = (name: string) => ({ name, kind: spanKind.internal });
const begin = (name: string, parent?: Span) => startSpan(step(name), parent?.spanContext()) as Span;
const down = new Error('ECONNREFUSED 10.1.2.3');

afterEach(() => installTracer(undefined));

describe('an untraced process', () => {
  test('creates no spans, and runs the work', async () => {
    expect(startSpan(step('none'), undefined)).toBeUndefined();
    expect(
      await traced(
        () => step('none'),
        async () => activeSpans().length,
      ),
    ).toBe(0);
    expect(inSpans([], activeTraceContext)).toEqual({ traceparent: '', tracestate: '' });
  });
});

describe('a step', () => {
  test('is a child of the active span, and active while it runs', async () => {
    const { spans } = traceInto('always_on');
    const root = begin('request');
    const carried = await inSpans([root], () =>
      traced(
        () => step('work'),
        async () => activeTraceContext(),
      ),
    );
    endSpan(root);
    const [work] = spans();
    expect(work).toMatchObject({ name: 'work', parentSpanContext: { spanId: root.spanContext().spanId } });
    expect(parseTraceContext(carried)?.spanId).toBe(work?.spanContext().spanId);
  });

  test('keeps the tracestate and the flag random of its trace, and starts a trace without them', () => {
    const { spans } = traceInto('parentbased_always_on');
    const trace = '0af7651916cd43dd8448eb211c80319c';
    for (const flags of ['03', '02']) {
      const traceparent = `00-${trace}-b7ad6b7169203331-${flags}`;
      const client = parseTraceContext({ traceparent, tracestate: 'vendor=a,other=b' });
      const root = startSpan(step('request'), client) as Span;
      const child = begin('work', root);
      expect(traceContextOf(child.spanContext())).toEqual({
        traceparent: `00-${trace}-${child.spanContext().spanId}-${flags}`,
        tracestate: 'vendor=a,other=b',
      });
      endSpan(child, down);
      endSpan(root);
    }
    expect(spans().map((span) => span.spanContext().traceFlags)).toEqual([3, 3, 3, 3]);
    expect(spans()[0]?.spanContext().traceState?.serialize()).toBe('vendor=a,other=b');
    expect(traceContextOf(begin('own').spanContext())).toMatchObject({
      traceparent: expect.stringMatching(/-01$/),
      tracestate: '',
    });
  });

  test('that serves several requests has a span in each trace, linked to the first', async () => {
    const { spans } = traceInto('always_on');
    const roots = ['a', 'b', 'c'].map((name) => begin(name));
    await inSpans(roots, () =>
      traced(
        () => step('shared'),
        async () => {},
      ),
    );
    const [first, ...others] = spans();
    expect(spans().map((span) => span.spanContext().traceId)).toEqual(roots.map((root) => root.spanContext().traceId));
    expect(first?.links).toEqual([]);
    for (const other of others) expect(other.links).toMatchObject([{ context: first?.spanContext() }]);
    for (const span of spans()) expect(span.attributes).toEqual({ 'rms.batch.size': 3 });
  });

  test('that runs outside of all spans belongs to no trace', async () => {
    const { spans } = traceInto('always_on');
    await inSpans([begin('request')], () =>
      outsideSpans(() =>
        traced(
          () => step('alone'),
          async () => {},
        ),
      ),
    );
    expect(spans()).toEqual([]);
  });

  test.each([
    ['an internal failure', down, 2, 'internal_error'],
    ['a coded failure', Object.assign(new Error('x'), { code: '57P01' }), 2, '57P01'],
    ['an unavailable dependency', new RmsError('service_unavailable'), 2, 'service_unavailable'],
    ['a client error', new RmsError('not_found'), 0, 'not_found'],
  ])('that ends with %s records its type, without the message', async (_, error, code, type) => {
    const { spans } = traceInto('always_on');
    const run = inSpans([begin('request')], () =>
      traced(
        () => step('work'),
        () => Promise.reject(error),
      ),
    );
    await expect(run).rejects.toBe(error);
    expect(spans()).toMatchObject([{ status: { code }, attributes: { 'error.type': type } }]);
    expect(JSON.stringify(spans().map(({ status, attributes, events }) => [status, attributes, events]))).not.toContain(
      '10.1.2.3',
    );
  });
});

describe('an unsampled span', () => {
  test('is dropped when it succeeds', async () => {
    const { names } = traceInto('always_off');
    const root = begin('request');
    await inSpans([root], () =>
      traced(
        () => step('work'),
        async () => {},
      ),
    );
    endSpan(root);
    expect(names()).toEqual([]);
  });

  test('is exported as sampled, with its whole part, if one span of the part fails', async () => {
    const { names, spans } = traceInto('always_off');
    const root = begin('request');
    await inSpans([root], async () => {
      await traced(
        () => step('good'),
        async () => {},
      );
      await traced(
        () => step('bad'),
        () => Promise.reject(down),
      ).catch(() => {});
    });
    expect(names()).toEqual([]);
    endSpan(root);
    expect(names()).toEqual(['good', 'bad', 'request']);
    expect(spans().map((span) => span.spanContext().traceFlags)).toEqual([1, 1, 1]);
  });

  test('that ends late in a failed part is exported', () => {
    const { names } = traceInto('always_off');
    const root = begin('request');
    const late = begin('late', root);
    endSpan(root, down);
    expect(names()).toEqual(['request']);
    endSpan(late);
    expect(names()).toEqual(['request', 'late']);
  });

  test('of a shared step exists only if the step fails', async () => {
    const { names, spans } = traceInto('always_off');
    const roots = [begin('a'), begin('b')];
    await inSpans(roots, async () => {
      await traced(
        () => step('good'),
        async () => {},
      );
      await traced(
        () => step('bad'),
        () => Promise.reject(down),
      ).catch(() => {});
    });
    for (const root of roots) endSpan(root);
    expect(names()).toEqual(['bad', 'a', 'bad', 'b']);
    const traces = roots.map((root) => root.spanContext().traceId);
    expect(spans().map((span) => span.spanContext().traceId)).toEqual([traces[0], traces[0], traces[1], traces[1]]);
  });

  test('beyond the limit of a part is dropped', async () => {
    const { names } = traceInto('always_off');
    const root = begin('request');
    await inSpans([root], async () => {
      for (let i = 0; i < 200; i += 1)
        await traced(
          () => step('work'),
          async () => {},
        );
    });
    endSpan(root, down);
    expect(names()).toHaveLength(64);
  });
});
