import { Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';
import { RmsError } from '../errors/index.ts';

/** A workspace's environments. Their data are separate. */
export const environments = ['live', 'sandbox'] as const;
export type Environment = (typeof environments)[number];

/** The workspace and environment that own the data, the unit of isolation. Every query is keyed by both. */
export interface Tenant {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** A workspace's data that a caller may access: one environment for API clients, both for operators. */
export interface TenantScope {
  readonly workspaceId: string;
  readonly environments: readonly Environment[];
}

interface Request {
  readonly workspaceId: string;
  readonly environment: EnvironmentMessage;
}

const messages: Readonly<Record<Environment, EnvironmentMessage>> = {
  live: EnvironmentMessage.LIVE,
  sandbox: EnvironmentMessage.SANDBOX,
};
const maxIdLength = 64;

export function toEnvironmentMessage(environment: Environment): EnvironmentMessage {
  return messages[environment];
}

/** Returns undefined for an unspecified or unknown environment. */
export function environmentOf(message: EnvironmentMessage): Environment | undefined {
  return environments.find((environment) => messages[environment] === message);
}

/** Converts an environment. Throws `invalid_request` if it is unspecified or unknown. */
export function fromEnvironmentMessage(message: EnvironmentMessage): Environment {
  const environment = environmentOf(message);
  if (environment) return environment;
  throw new RmsError('invalid_request', { details: [{ field: 'environment', message: 'must be live or sandbox' }] });
}

/** Returns a request's tenant. Throws `invalid_request` without a workspace ID or without an environment. */
export function toTenant({ workspaceId, environment }: Request): Tenant {
  return { workspaceId: checkWorkspaceId(workspaceId), environment: fromEnvironmentMessage(environment) };
}

/**
 * Returns a request's scope. An unspecified environment means both, which only operators may request. Throws
 * `invalid_request` without a workspace ID or with an unknown environment.
 */
export function toScope({ workspaceId, environment }: Request): TenantScope {
  return { workspaceId: checkWorkspaceId(workspaceId), environments: toEnvironments(environment) };
}

/** Returns the environments that a filter matches: both if it is unspecified. Throws `invalid_request` if unknown. */
export function toEnvironments(message: EnvironmentMessage): readonly Environment[] {
  return message === EnvironmentMessage.UNSPECIFIED ? environments : [fromEnvironmentMessage(message)];
}

function checkWorkspaceId(workspaceId: string): string {
  if (workspaceId !== '' && workspaceId.length <= maxIdLength) return workspaceId;
  throw new RmsError('invalid_request', { details: [{ field: 'workspace_id', message: 'must be a workspace ID' }] });
}
