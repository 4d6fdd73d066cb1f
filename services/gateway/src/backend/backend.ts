import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Status } from '@rms/proto/google/rpc/status_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import type {
  CreateResourceRequestSchema,
  DeleteResourceRequestSchema,
  GetResourceRequestSchema,
  ResourcesService,
  UpdateResourceRequestSchema,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { coalesce, fromStatusMessage, type RpcClient } from '@rms/rpc';

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

export function createBackend(
  resources: RpcClient<typeof ResourcesService>,
  webhooks: RpcClient<typeof WebhooksService>,
  events: Backend['events'],
): Backend {
  const create = coalesce(
    async (requests: CreateRequest[]) => (await resources.batchCreateResources({ requests })).results,
    gather,
  );
  const get = coalesce(
    async (requests: GetRequest[]) => (await resources.batchGetResources({ requests })).results,
    gather,
  );
  const update = coalesce(
    async (requests: UpdateRequest[]) => (await resources.batchUpdateResources({ requests })).results,
    gather,
  );
  const remove = coalesce(
    async (requests: DeleteRequest[]) => (await resources.batchDeleteResources({ requests })).results,
    gather,
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

function unwrap(result: ItemResult): Resource {
  if (result.case === 'resource') return result.value;
  if (result.case === 'error') throw fromStatusMessage(result.value);
  throw new Error('resources answered with neither a resource nor an error');
}
