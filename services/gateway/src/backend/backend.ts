import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import type { Status } from '@rms/proto/google/rpc/status_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import {
  type CreateResourceRequestSchema,
  type DeleteResourceRequestSchema,
  type GetResourceRequestSchema,
  ResourcesService,
  type UpdateResourceRequestSchema,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { callForAll, coalesce, fromStatusMessage, type RpcClient } from '@rms/rpc';

type CreateRequest = MessageInitShape<typeof CreateResourceRequestSchema>;
type GetRequest = MessageInitShape<typeof GetResourceRequestSchema>;
type UpdateRequest = MessageInitShape<typeof UpdateResourceRequestSchema>;
type DeleteRequest = MessageInitShape<typeof DeleteResourceRequestSchema>;

/** The services behind the gateway. Single resources go one at a time; calls of one moment ride one RPC. */
export interface Backend extends Pick<RpcClient<typeof ResourcesService>, 'listResources'> {
  createResource(request: CreateRequest): Promise<{ resource: Resource; replayed: boolean }>;
  getResource(request: GetRequest): Promise<Resource>;
  updateResource(request: UpdateRequest): Promise<Resource>;
  deleteResource(request: DeleteRequest): Promise<void>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly events: Pick<RpcClient<typeof EventsService>, 'listEvents'>;
}

/**
 * The second batch hides the first one's round trip, and keeps one that is slow from holding up all. Behind a service
 * that hangs nobody waits longer than for its deadline and this.
 */
const gather = { maxInFlight: 2, maxWaitMs: 2_000 };

const { method } = ResourcesService;

export function createBackend(
  resources: RpcClient<typeof ResourcesService>,
  webhooks: RpcClient<typeof WebhooksService>,
  events: Backend['events'],
): Backend {
  const create = inOneCall(
    method.batchCreateResources,
    async (requests: CreateRequest[]) => (await resources.batchCreateResources({ requests })).results,
  );
  const get = inOneCall(
    method.batchGetResources,
    async (requests: GetRequest[]) => (await resources.batchGetResources({ requests })).results,
  );
  const update = inOneCall(
    method.batchUpdateResources,
    async (requests: UpdateRequest[]) => (await resources.batchUpdateResources({ requests })).results,
  );
  const remove = inOneCall(
    method.batchDeleteResources,
    async (requests: DeleteRequest[]) => (await resources.batchDeleteResources({ requests })).results,
  );
  return {
    async createResource(request) {
      const { result, replayed } = await create(request);
      return { resource: unwrap(result), replayed };
    },
    getResource: async (request) => unwrap((await get(request)).result),
    updateResource: async (request) => unwrap((await update(request)).result),
    async deleteResource(request) {
      const { error } = await remove(request);
      if (error) throw fromStatusMessage(error);
    },
    listResources: resources.listResources,
    webhooks,
    events,
  };
}

type ItemResult =
  | { case: 'resource'; value: Resource }
  | { case: 'error'; value: Status }
  | { case: undefined; value?: undefined };

/** Requests of one moment ride one call, each in its own trace. */
function inOneCall<Request extends Parameters<typeof callForAll>[1][number], Answer extends ItemAnswer>(
  rpc: DescMethod,
  send: (requests: Request[]) => Promise<Answer[]>,
): (request: Request) => Promise<Answer> {
  return coalesce((requests: Request[]) => callForAll(rpc, requests, send, errorOf), gather);
}

interface ItemAnswer {
  readonly result?: ItemResult;
  readonly error?: Status | undefined;
}

/** The error of one request of a batch; undefined: it has done what was asked. */
function errorOf({ result, error }: ItemAnswer) {
  const status = result?.case === 'error' ? result.value : error;
  return status && fromStatusMessage(status);
}

function unwrap(result: ItemResult): Resource {
  if (result.case === 'resource') return result.value;
  if (result.case === 'error') throw fromStatusMessage(result.value);
  throw new Error('resources answered with neither a resource nor an error');
}
