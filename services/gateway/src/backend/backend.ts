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
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { coalesce, fromStatusMessage, type RpcClient } from '@rms/rpc';

/** The services behind the gateway, one resource at a time: calls of one moment ride one RPC. */
export interface Backend {
  createResource(
    request: MessageInitShape<typeof CreateResourceRequestSchema>,
  ): Promise<{ resource: Resource; replayed: boolean }>;
  getResource(request: MessageInitShape<typeof GetResourceRequestSchema>): Promise<Resource>;
  updateResource(request: MessageInitShape<typeof UpdateResourceRequestSchema>): Promise<Resource>;
  deleteResource(request: MessageInitShape<typeof DeleteResourceRequestSchema>): Promise<void>;
  readonly listResources: RpcClient<typeof ResourcesService>['listResources'];
  readonly webhooks: RpcClient<typeof WebhooksService>;
}

/** A second batch may leave while the first is under way: it hides the round trip. */
const gather = { maxInFlight: 2, maxBatch: 200 };

export function createBackend(
  resources: RpcClient<typeof ResourcesService>,
  webhooks: RpcClient<typeof WebhooksService>,
): Backend {
  const create = coalesce(
    async (requests: MessageInitShape<typeof CreateResourceRequestSchema>[]) =>
      (await resources.batchCreateResources({ requests })).results,
    gather,
  );
  const get = coalesce(
    async (requests: MessageInitShape<typeof GetResourceRequestSchema>[]) =>
      (await resources.batchGetResources({ requests })).results,
    gather,
  );
  const update = coalesce(
    async (requests: MessageInitShape<typeof UpdateResourceRequestSchema>[]) =>
      (await resources.batchUpdateResources({ requests })).results,
    gather,
  );
  const remove = coalesce(
    async (requests: MessageInitShape<typeof DeleteResourceRequestSchema>[]) =>
      (await resources.batchDeleteResources({ requests })).results,
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
  };
}

type ItemResult =
  | { case: 'resource'; value: Resource }
  | { case: 'error'; value: Status }
  | { case: undefined; value?: undefined };

/** An item's resource; its error is thrown. */
function unwrap(result: ItemResult): Resource {
  if (result.case === 'resource') return result.value;
  if (result.case === 'error') throw fromStatusMessage(result.value);
  throw new Error('resources answered an item with neither a resource nor an error');
}
