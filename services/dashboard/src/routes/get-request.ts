import { type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { userOfActor } from '@rms/rpc';
import { z } from 'zod';
import {
  beginningOf,
  deliveryStepsOf,
  type NameOf,
  type RequestDocument,
  redeliveryOf,
  responseOf,
  stepsOfEvent,
} from '../documents/request.ts';
import { type TenantCall, tenantEndpoint } from './endpoint.ts';

/** Maximum number of deliveries shown per request. */
const maxDeliveries = 200;
/** Maximum number of redeliveries shown per request, most recent first. */
const maxRedeliveries = 100;

/** Returns the steps of a request in order of time. The list is empty if there is no record of the request. */
export const getRequest = tenantEndpoint({
  access: 'requests.read',
  method: 'get',
  path: '/requests',
  query: z.strictObject({ id: z.string().min(1).max(128) }),
  async handle({ backend, tenant, query, config, context, signal }): Promise<RequestDocument> {
    const options = { context, signal: signal() };
    const requested = { ...tenant, requestId: query.id };
    // Pages are bounded in bytes, so a page may have fewer deliveries than requested.
    const readDeliveries = async () => {
      const found: Delivery[] = [];
      let pageToken = '';
      do {
        const pageSize = maxDeliveries - found.length;
        const page = await backend.deliveries.listDeliveries(
          { ...requested, status: DeliveryStatus.UNSPECIFIED, pageSize, pageToken, withAttempts: true },
          options,
        );
        found.push(...page.deliveries);
        pageToken = page.nextPageToken;
      } while (pageToken && found.length < maxDeliveries);
      return found;
    };
    const [{ requests, leftOut }, { events }, deliveries] = await Promise.all([
      backend.requests.listRequests(requested, options),
      backend.events.listEventsOfRequest(requested, options),
      readDeliveries(),
    ]);
    const redeliveries = await readRedeliveries(backend, { ...tenant, ids: deliveries.map(({ id }) => id) }, options);
    const actors = [...requests, ...events, ...redeliveries].map(({ actor }) => actor);
    const nameOf = await readNames(backend, { ...tenant, actors }, options);
    // Event IDs sort in causal order. Delivery IDs within a batch do not.
    const inOrder = [...deliveries].sort((a, b) => (a.eventId + a.id < b.eventId + b.id ? -1 : 1));
    const steps = [
      ...requests.map((request) => beginningOf(request, nameOf)),
      ...events.flatMap((event) => stepsOfEvent(event, nameOf).slice(0, 1)),
      ...requests.map(responseOf),
      ...events.flatMap((event) => stepsOfEvent(event, nameOf).slice(1)),
      ...inOrder.flatMap(deliveryStepsOf),
      ...redeliveries.map((entry) => redeliveryOf(entry, nameOf)),
    ];
    const traceIds = new Set([...requests, ...events].map(({ traceId }) => traceId).filter((id) => id !== ''));
    return {
      // The sort is stable: steps in the same millisecond stay in causal order.
      left_out: Number(leftOut),
      steps: steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)),
      traces: [...traceIds].map((id) => ({ id, url: config.traceUrl?.replace('{trace_id}', id) ?? null })),
    };
  },
});

type Backend = TenantCall<unknown, unknown>['backend'];
type Options = { readonly context: TenantCall<unknown, unknown>['context']; readonly signal: AbortSignal };

/** Reads the redeliveries of these deliveries from the audit log. */
async function readRedeliveries(
  backend: Backend,
  { workspaceId, ids }: { readonly workspaceId: string; readonly ids: readonly string[] },
  options: Options,
) {
  if (ids.length === 0) return [];
  const requested = { workspaceId, targetIds: [...ids], action: 'delivery.redelivered', pageSize: maxRedeliveries };
  return (await backend.audit.listAuditEntries(requested, options)).entries;
}

/** Reads the display names of actors: the email address of a member, otherwise the actor itself. */
async function readNames(
  backend: Backend,
  { workspaceId, actors }: { readonly workspaceId: string; readonly actors: readonly string[] },
  options: Options,
): Promise<NameOf> {
  if (actors.every((actor) => userOfActor(actor) === undefined)) return (actor) => actor;
  const { members } = await backend.members.listMembers({ workspaceId }, options);
  const emails = new Map(members.map(({ userId, email }) => [userId, email]));
  return (actor) => emails.get(userOfActor(actor) ?? '') ?? actor;
}
