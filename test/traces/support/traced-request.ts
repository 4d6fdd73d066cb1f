import type { OtlpCollector, ReceivedSpan, Receiver } from '@rms/testkit';
import { type ApiClient, createApiClient, expectStatus } from '../../api/support/api-client.ts';
import type { NewKey, One, Resource, Webhook } from '../../api/support/api-types.ts';
import type { Shape } from '../../api/support/shape.ts';

/** Settings for receivers on loopback. */
export const openSettings = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', LOG_LEVEL: 'info' };

/** A traced shape, with a webhook at a receiver. */
export interface TracedShape {
  readonly shape: Shape;
  readonly collector: OtlpCollector;
  readonly receiver: Receiver;
  /** Client of the live environment, with an admin key. */
  readonly client: ApiClient;
  readonly key: NewKey;
  readonly webhook: Webhook;
}

/** Endpoint path and query that contain a secret. */
export const secretPath = '/hooks/s3cr3t-path?token=s3cr3t-query';

export async function subscribeTraced(parts: {
  shape: Shape;
  collector: OtlpCollector;
  receiver: Receiver;
}): Promise<TracedShape> {
  const { shape, receiver } = parts;
  const key = await shape.rms<NewKey>(
    'keys',
    'create',
    '--environment',
    'live',
    '--scope',
    'admin',
    '--name',
    'Tracer',
  );
  const client = createApiClient(shape.liveUrl, key.key);
  const url = new URL(secretPath, receiver.url).href;
  const created = await client.post<One<Webhook>>('/v1/webhooks', { url, events: ['*'] });
  return { ...parts, client, key, webhook: expectStatus(created, 201).body.data };
}

/** Creates a resource in a request with this id and these additional headers. */
export async function createFor(
  { client }: TracedShape,
  requestId: string,
  headers: Record<string, string> = {},
): Promise<Resource> {
  const sent = { headers: { 'x-request-id': requestId, ...headers } };
  return expectStatus(await client.post<One<Resource>>('/v1/resources', { name: requestId }, sent), 201).body.data;
}

/**
 * Returns the spans in a request's trace, once it contains a span with this name, and the parent of each span: every
 * service exports its own spans, in any order.
 */
export async function traceOf(
  { collector }: TracedShape,
  requestId: string,
  lastName: string,
): Promise<{ root: ReceivedSpan; trace: ReceivedSpan[] }> {
  const rootOf = (spans: readonly ReceivedSpan[]) =>
    spans.find(({ kind, attributes }) => kind === 'SERVER' && attributes['rms.request_id'] === requestId);
  const of = (spans: readonly ReceivedSpan[]) => spans.filter(({ traceId }) => traceId === rootOf(spans)?.traceId);
  const isWhole = (trace: readonly ReceivedSpan[]) => {
    const ids = new Set(['', ...trace.map(({ spanId }) => spanId)]);
    return trace.every(({ parentSpanId }) => ids.has(parentSpanId));
  };
  const spans = await collector.waitFor(
    `${lastName} and all its ancestors in the trace of ${requestId}`,
    (all) => of(all).some(({ name }) => name === lastName) && isWhole(of(all)),
  );
  return { root: rootOf(spans) as ReceivedSpan, trace: of(spans) };
}

/** Returns the names of the given span and its ancestors, the root first. */
export function pathTo(span: ReceivedSpan, trace: readonly ReceivedSpan[]): string[] {
  const parent = trace.find(({ spanId }) => spanId === span.parentSpanId);
  return [...(parent ? pathTo(parent, trace) : []), `${span.kind} ${span.name}`];
}
