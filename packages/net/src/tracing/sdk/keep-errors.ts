import { type Context, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';

/** The unsampled spans of a trace below one local root span, held until that span ends. */
interface Part {
  readonly rootId: string;
  ended: ReadableSpan[];
  failed: boolean;
  /** Whether the root span is over. */
  over: boolean;
}

/** Maximum number of open unsampled spans. */
const maxOpenSpans = 20_000;
/** Maximum number of held spans per part; further spans are dropped. */
const keptOfPart = 64;

/**
 * Forwards sampled spans, and unsampled spans of failures: when the first local span of a trace ends and it or a
 * descendant has failed, all local spans of the trace are forwarded.
 *
 *   root span starts ──► its part is held ──root ends, no failure──► dropped
 *                                            └──failure──► forwarded, including spans that end later
 */
export class KeepErrors implements SpanProcessor {
  readonly #next: SpanProcessor;
  readonly #open = new Map<string, Part>();

  constructor(next: SpanProcessor) {
    this.#next = next;
  }

  onStart(span: Span, context: Context): void {
    const { spanId, traceFlags } = span.spanContext();
    if (traceFlags & TraceFlags.SAMPLED) {
      this.#next.onStart(span, context);
      return;
    }
    if (this.#open.size >= maxOpenSpans) return;
    const parent = span.parentSpanContext;
    const known = parent && !parent.isRemote ? this.#open.get(parent.spanId) : undefined;
    this.#open.set(spanId, known ?? { rootId: spanId, ended: [], failed: false, over: false });
  }

  onEnd(span: ReadableSpan): void {
    const { spanId, traceFlags } = span.spanContext();
    if (traceFlags & TraceFlags.SAMPLED) {
      this.#next.onEnd(span);
      return;
    }
    const part = this.#open.get(spanId);
    if (!part) return;
    this.#open.delete(spanId);
    if (span.status.code === SpanStatusCode.ERROR) part.failed = true;
    if (part.ended.length < keptOfPart) part.ended.push(span);
    if (spanId === part.rootId) part.over = true;
    if (!part.over) return;
    if (part.failed) for (const ended of part.ended) this.#next.onEnd(asSampled(ended));
    part.ended = [];
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush();
  }

  shutdown(): Promise<void> {
    this.#open.clear();
    return this.#next.shutdown();
  }
}

/** Marks a span as sampled, because exporters skip unsampled spans. */
function asSampled(span: ReadableSpan): ReadableSpan {
  const context = { ...span.spanContext(), traceFlags: span.spanContext().traceFlags | TraceFlags.SAMPLED };
  return Object.create(span, { spanContext: { value: () => context } });
}
