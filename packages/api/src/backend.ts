import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import type { Status } from '@rms/proto/google/rpc/status_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import {
  type CreateResourceRequestSchema,
  type DeleteResourceRequestSchema,
  type GetResourceRequestSchema,
  ResourcesService,
  type UpdateResourceRequestSchema,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { callForAll, fromStatusMessage, type RpcClient } from '@rms/rpc';

type CreateRequest = MessageInitShape<typeof CreateResourceRequestSchema>;
type GetRequest = MessageInitShape<typeof GetResourceRequestSchema>;
type UpdateRequest = MessageInitShape<typeof UpdateResourceRequestSchema>;
type DeleteRequest = MessageInitShape<typeof DeleteResourceRequestSchema>;

/** RPC clients of the services behind the gateway. Concurrent requests for single resources share batch RPCs. */
export interface Backend extends Clients, Pick<RpcClient<typeof ResourcesService>, 'listResources'> {
  createResource(request: CreateRequest): Promise<{ resource: Resource; replayed: boolean }>;
  getResource(request: GetRequest): Promise<Resource>;
  updateResource(request: UpdateRequest): Promise<Resource>;
  deleteResource(request: DeleteRequest): Promise<void>;
}

/** RPC clients whose calls serve one request each. */
export interface Clients {
  readonly keys: RpcClient<typeof KeysService>;
  readonly workspaces: Pick<RpcClient<typeof WorkspacesService>, 'getWorkspace'>;
  readonly audit: Pick<RpcClient<typeof AuditService>, 'listAuditEntries'>;
  /** undefined if requests are not counted. */
  readonly usage: Pick<RpcClient<typeof UsageService>, 'getUsage'> | undefined;
  readonly requests: RpcClient<typeof RequestsService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly deliveries: RpcClient<typeof DeliveriesService>;
  readonly events: RpcClient<typeof EventsService>;
}

/**
 * Two batches in flight hide the round trip, and one slow batch does not block all requests. If a service hangs, a
 * request waits at most for the RPC deadline plus `maxWaitMs`. Workspaces take turns.
 */
const gather = { maxInFlight: 2, maxWaitMs: 4_000 };

const { method } = ResourcesService;

export function createBackend(resources: RpcClient<typeof ResourcesService>, clients: Clients): Backend {
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
    ...clients,
  };
}

type ItemResult =
  | { case: 'resource'; value: Resource }
  | { case: 'error'; value: Status }
  | { case: undefined; value?: undefined };

/** Collects concurrent requests into one batch RPC. Each request keeps its own trace. */
function inOneCall<Request extends ItemRequest, Response extends ItemResponse>(
  rpc: DescMethod,
  send: (requests: Request[]) => Promise<Response[]>,
): (request: Request) => Promise<Response> {
  const laneOf = ({ context }: Request) => context?.principal?.workspaceId ?? '';
  return coalesce((requests: Request[]) => callForAll(rpc, requests, send, errorOf), { ...gather, laneOf });
}

type ItemRequest = Parameters<typeof callForAll>[1][number] & {
  readonly context?: { readonly principal?: { readonly workspaceId?: string } | undefined } | undefined;
};

interface ItemResponse {
  readonly result?: ItemResult;
  readonly error?: Status | undefined;
}

/** Returns the error of a batch item, or undefined if it succeeded. */
function errorOf({ result, error }: ItemResponse) {
  const status = result?.case === 'error' ? result.value : error;
  return status && fromStatusMessage(status);
}

function unwrap(result: ItemResult): Resource {
  if (result.case === 'resource') return result.value;
  if (result.case === 'error') throw fromStatusMessage(result.value);
  throw new Error('the resources service returned neither a resource nor an error');
}
