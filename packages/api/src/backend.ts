import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import {
  type CreateResourceRequestSchema,
  type DeleteResourceRequestSchema,
  type GetResourceRequestSchema,
  type GetResourceResult,
  ResourcesService,
  type UpdateResourceRequestSchema,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { type CallOptions, callForAll, type ItemResult, itemError, type RpcClient } from '@rms/rpc';

type CreateRequest = MessageInitShape<typeof CreateResourceRequestSchema>;
type GetRequest = MessageInitShape<typeof GetResourceRequestSchema>;
type UpdateRequest = MessageInitShape<typeof UpdateResourceRequestSchema>;
type DeleteRequest = MessageInitShape<typeof DeleteResourceRequestSchema>;

/** Calls of the services behind the API. */
export interface Backend extends Clients {
  readonly listResources: RpcClient<typeof ResourcesService>['listResources'];
  createResource(request: CreateRequest): Promise<{ resource: Resource; replayed: boolean }>;
  getResource(request: GetRequest): Promise<Resource>;
  updateResource(request: UpdateRequest): Promise<Resource>;
  deleteResource(request: DeleteRequest): Promise<void>;
}

/** The services that manage members and invitations. */
interface Team {
  readonly members: RpcClient<typeof MembersService>;
  readonly invitations: RpcClient<typeof InvitationsService>;
}

interface Portal {
  readonly sessions: RpcClient<typeof PortalSessionsService>;
  /** Public URL of the dashboard, which serves the portal. Undefined: the installation has none. */
  readonly dashboardUrl: string | undefined;
}

/** RPC clients whose calls serve one request each. */
export interface Clients {
  readonly keys: RpcClient<typeof KeysService>;
  readonly workspaces: RpcClient<typeof WorkspacesService>;
  readonly audit: RpcClient<typeof AuditService>;
  /** undefined if requests are not counted. */
  readonly usage: RpcClient<typeof UsageService> | undefined;
  /** undefined if this installation has no alerts; see {@link alertsOf}. */
  readonly alerts: RpcClient<typeof AlertsService> | undefined;
  readonly team: Team;
  /** undefined: no portal sessions are created through this API; see {@link portalOf}. */
  readonly portal: Portal | undefined;
  /** undefined: users are named by their IDs. */
  readonly members: RpcClient<typeof MembersService> | undefined;
  readonly requests: RpcClient<typeof RequestsService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly deliveries: RpcClient<typeof DeliveriesService>;
  readonly events: RpcClient<typeof EventsService>;
}

/** Returns the client for portal sessions. Throws `not_found` where none are created. */
export function portalOf({ portal }: Clients): Portal {
  if (portal) return portal;
  throw new RmsError('not_found');
}

/** Returns the client of alerts. Throws `service_unavailable` if the installation has none. */
export function alertsOf({ alerts }: Clients): RpcClient<typeof AlertsService> {
  if (alerts) return alerts;
  throw withoutAlerts();
}

/** Returns the client of usage. Throws `service_unavailable` if the installation counts nothing. */
export function usageOf({ usage }: Clients): RpcClient<typeof UsageService> {
  if (usage) return usage;
  throw withoutAlerts();
}

function withoutAlerts(): RmsError {
  return new RmsError('service_unavailable', { message: 'This installation runs without the alerts service.' });
}

/**
 * Two batches in flight hide the round trip, and one slow batch does not block all requests. If a service hangs, a
 * request waits at most for the RPC deadline plus `maxWaitMs`. Workspaces are served round-robin.
 */
const gather = { maxInFlight: 2, maxWaitMs: 4_000 };

const { method } = ResourcesService;

/**
 * Creates the services' calls.
 * @param shareBatches whether concurrent requests for single resources share batch RPCs. false: for callers that act
 *   for users, because a batch must name one user.
 */
export function createBackend(
  resources: RpcClient<typeof ResourcesService>,
  clients: Clients,
  shareBatches: boolean,
): Backend {
  const inOneCall = shareBatches ? inSharedCall : inOwnCall;
  const create = inOneCall(
    method.batchCreateResources,
    async (requests: CreateRequest[], options: CallOptions) =>
      (await resources.batchCreateResources({ requests }, options)).results,
  );
  const get = inOneCall(
    method.batchGetResources,
    async (requests: GetRequest[], options: CallOptions) =>
      (await resources.batchGetResources({ requests }, options)).results,
  );
  const update = inOneCall(
    method.batchUpdateResources,
    async (requests: UpdateRequest[], options: CallOptions) =>
      (await resources.batchUpdateResources({ requests }, options)).results,
  );
  const remove = inOneCall(
    method.batchDeleteResources,
    async (requests: DeleteRequest[], options: CallOptions) =>
      (await resources.batchDeleteResources({ requests }, options)).results,
  );
  return {
    async createResource(request) {
      const result = await create(request);
      return { resource: unwrap(result), replayed: result.replayed };
    },
    getResource: async (request) => unwrap(await get(request)),
    updateResource: async (request) => unwrap(await update(request)),
    async deleteResource(request) {
      const error = itemError(await remove(request));
      if (error) throw error;
    },
    listResources: resources.listResources,
    ...clients,
  };
}

type Send<Request, Response> = (requests: Request[], options: CallOptions) => Promise<Response[]>;

/** Collects concurrent requests into one batch RPC. Each request keeps its own trace. */
function inSharedCall<Request extends ItemRequest, Response extends ItemResult>(
  rpc: DescMethod,
  send: Send<Request, Response>,
): (request: Request) => Promise<Response> {
  const sendAll = (requests: Request[]) => send(requests, {});
  const tenantOf = ({ context }: Request) => context?.principal?.workspaceId ?? '';
  return coalesce((requests: Request[]) => callForAll(rpc, requests, sendAll), { ...gather, tenantOf });
}

/** Makes a batch RPC with a single request. */
function inOwnCall<Request extends ItemRequest, Response extends ItemResult>(
  rpc: DescMethod,
  send: Send<Request, Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const sendOne = (requests: Request[]) => send(requests, { context: request.context });
    const [response] = await callForAll(rpc, [request], sendOne);
    if (!response) throw new Error('the resources service returned no result');
    return response;
  };
}

type ItemRequest = Parameters<typeof callForAll>[1][number] & {
  readonly context?: { readonly principal?: { readonly workspaceId?: string } | undefined } | undefined;
};

/** Returns the resource of an item's result. Throws the item's error. */
function unwrap(item: Pick<GetResourceResult, 'result'>): Resource {
  const error = itemError(item);
  if (error) throw error;
  if (item.result.case === 'resource') return item.result.value;
  throw new Error('the resources service returned neither a resource nor an error');
}
