import type { Attributes } from '@opentelemetry/api';

/** Attribute names: OpenTelemetry's semantic conventions, and attributes of this project under `rms.`. */
export const attribute = {
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  peerAddress: 'network.peer.address',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  httpResend: 'http.request.resend_count',
  urlScheme: 'url.scheme',
  rpcSystem: 'rpc.system',
  rpcService: 'rpc.service',
  rpcMethod: 'rpc.method',
  rpcStatus: 'rpc.grpc.status_code',
  dbSystem: 'db.system.name',
  dbNamespace: 'db.namespace',
  dbQuery: 'db.query.text',
  dbSummary: 'db.query.summary',
  dbOperation: 'db.operation.name',
  messagingSystem: 'messaging.system',
  messagingOperation: 'messaging.operation.name',
  messagingOperationType: 'messaging.operation.type',
  messagingDestination: 'messaging.destination.name',
  messagingPartition: 'messaging.destination.partition.id',
  messagingGroup: 'messaging.consumer.group.name',
  messagingKey: 'messaging.kafka.message.key',
  messagingOffset: 'messaging.kafka.offset',
  messagingMessageId: 'messaging.message.id',
  requestId: 'rms.request_id',
  workspaceId: 'rms.workspace_id',
  /** "live" or "sandbox". */
  environment: 'rms.environment',
  keyId: 'rms.key_id',
  eventId: 'rms.event_id',
  eventType: 'rms.event_type',
  resourceId: 'rms.resource_id',
  webhookId: 'rms.webhook_id',
  deliveryId: 'rms.delivery_id',
  /** Number of requests that shared this step. */
  batchSize: 'rms.batch.size',
} as const;

/** Returns the gRPC span attributes for a method, "package.Service/Method". */
export function rpcAttributes(method: string): Attributes {
  const slash = method.lastIndexOf('/');
  return {
    [attribute.rpcSystem]: 'grpc',
    [attribute.rpcService]: method.slice(0, slash),
    [attribute.rpcMethod]: method.slice(slash + 1),
  };
}
