import type { OtlpCollector, ReceivedSpan, Receiver } from '@rms/testkit';
import { type ApiClient, createApiClient, expectStatus } from '../../api/support/api-client.ts';
import type { NewKey, One, Resource, Webhook } from '../../api/support/api-types.ts';
import type { Shape } from '../../api/support/shape.ts';

/** Receivers of the tests listen on loopback. */
export const openSettings = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', LOG_LEVEL: 'info' };

/** A shape that is traced, with a webhook at a receiver. */
export interface TracedShape {
  readonly shape: Shape;
  readonly collector: OtlpCollector;
  readonly receiver: Receiver;
  /** Of the live environment, with an admin key. */
  readonly client: ApiClient;
  readonly key: NewKey;
  readonly webhook: Webhook;
}

/** A secret may be in the path and query of an endpoint. */
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
  const made = await client.post<One<Webhook>>('/v1/webhooks', { url, events: ['*'] });
  return { ...parts, client, key, webhook: expectStatus(made, 201).body.data };
}

/** Creates a resource for a request with that id, and further headers. */
export async function createFor(
  { client }: TracedShape,
  requestId: string,
  headers: Record<string, string> = {},
): Promise<Resource> {
  const sent = { headers: { 'x-request-id': requestId, ...headers } };
  return expectStatus(await client.post<One<Resource>>('/v1/resources', { name: requestId }, sent), 201).body.data;
}

/** The spans of the trace of a request, once one with that name has come. */
export async function traceOf(
  { collector }: TracedShape,
  requestId: string,
  lastName: string,
): Promise<{ root: ReceivedSpan; trace: ReceivedSpan[] }> {
  const rootOf = (spans: readonly ReceivedSpan[]) =>
    spans.find(({ kind, attributes }) => kind === 'SERVER' && attributes['rms.request_id'] === requestId);
  const of = (spans: readonly ReceivedSpan[]) => spans.filter(({ traceId }) => traceId === rootOf(spans)?.traceId);
  const spans = await collector.waitFor(`${lastName} in the trace of ${requestId}`, (all) =>
    of(all).some(({ name }) => name === lastName),
  );
  return { root: rootOf(spans) as ReceivedSpan, trace: of(spans) };
}

/** The names of a span and of those above it, the uppermost first. */
export function pathTo(span: ReceivedSpan, trace: readonly ReceivedSpan[]): string[] {
  const parent = trace.find(({ spanId }) => spanId === span.parentSpanId);
  return [...(parent ? pathTo(parent, trace) : []), `${span.kind} ${span.name}`];
}
