import {
  attribute,
  failSpan,
  inSpans,
  isTracing,
  parseTraceContext,
  type Span,
  spanKind,
  startSpan,
  type TraceContext,
  traceContextOf,
} from '@rms/async/tracing';
import type { AttemptResult, DeliveryJob } from './job.ts';

/**
 * Runs an attempt in a span that belongs to the trace of the event's request.
 * @param attempt receives the trace context of the outgoing call
 */
export async function traceAttempt(
  job: DeliveryJob,
  attempt: (trace: TraceContext) => Promise<AttemptResult>,
): Promise<AttemptResult> {
  if (!isTracing()) return attempt(job);
  const step = { name: 'POST', kind: spanKind.client, attributes: attributesOf(job) };
  const span = startSpan(step, parseTraceContext(job));
  if (!span) return attempt(job);
  try {
    const result = await inSpans([span], () => attempt(traceContextOf(span.spanContext())));
    note(span, result);
    return result;
  } catch (error) {
    failSpan(span, (error as Error).name);
    throw error;
  } finally {
    span.end();
  }
}

/** Only the URL's host is recorded: its path and query may contain a secret. */
function attributesOf(job: DeliveryJob) {
  const { url } = job.endpoint;
  const { protocol, hostname, port } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '', port: '' };
  const isHttps = protocol === 'https:';
  return {
    [attribute.httpMethod]: 'POST',
    [attribute.urlScheme]: isHttps ? 'https' : 'http',
    [attribute.serverAddress]: hostname,
    [attribute.serverPort]: port === '' ? (isHttps ? 443 : 80) : Number(port),
    ...(job.tries > 0 ? { [attribute.httpResend]: job.tries } : {}),
    [attribute.requestId]: job.requestId,
    [attribute.workspaceId]: job.workspaceId,
    [attribute.environment]: job.environment,
    [attribute.eventId]: job.eventId,
    [attribute.webhookId]: job.webhookId,
    [attribute.deliveryId]: job.id,
  };
}

function note(span: Span, { statusCode, error, address }: AttemptResult): void {
  if (address) span.setAttribute(attribute.peerAddress, address);
  if (statusCode !== 0) span.setAttribute(attribute.httpStatus, statusCode);
  if (error !== '') {
    // Records only the error's class, because the rest may be text from the endpoint.
    failSpan(span, error.startsWith('status: ') ? `${statusCode}` : (error.split(':', 1)[0] ?? ''));
  }
}
