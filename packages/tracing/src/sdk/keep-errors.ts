import { type Context, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** The part of one trace that happens in this process below one span, while it is not known whether it fails. */
interface Part {
  readonly rootId: string;
  ended: ReadableSpan[];
  failed: boolean;
  /** Its first span has ended. */
  over: boolean;
}

/** Spans that are open and not sampled. */
const openAtMost = 20_000;
/** Of one part; further ones are forgotten. */
const keptOfPart = 64;

/**
 * Passes on what is sampled, and what is not if it fails: when the first span that this process has of a trace ends, and it
 * or one below it has failed, all of them go.
 *
 *   first span starts ──► its part is held ──its end, nothing failed──► forgotten
 *                                             └─something failed──────► passed on, and what ends later as well
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
    if (this.#open.size >= openAtMost) return;
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

/** Exporters leave out what does not say that it is sampled. */
function asSampled(span: ReadableSpan): ReadableSpan {
  const context = { ...span.spanContext(), traceFlags: TraceFlags.SAMPLED };
  return Object.create(span, { spanContext: { value: () => context } });
}
