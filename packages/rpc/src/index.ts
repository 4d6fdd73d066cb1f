export type { CallContext, Environment, Principal, Scope } from './call-context.ts';
export { type CallOptions, type ClientOptions, createClient, type RpcClient } from './client.ts';
export { type CoalesceOptions, coalesce } from './coalesce.ts';
export { codeOf, fromStatusMessage, toStatusMessage } from './error-mapping.ts';
export { createGrpcService, type GrpcService, type GrpcServiceOptions } from './grpc-service.ts';
export { HealthState } from './health.ts';
export { type RpcServer, type ServeOptions, serve } from './serve.ts';
export { type Handlers, type RpcContext, rpcService } from './server-adapter.ts';
