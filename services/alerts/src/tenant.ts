import { RmsError } from '@rms/errors';
import { Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';

export type Environment = 'live' | 'sandbox';

/** Whose data something is: everything is kept apart by both. */
export interface Tenant {
  readonly workspaceId: string;
  readonly environment: Environment;
}

export function toEnvironmentMessage(environment: Environment): EnvironmentMessage {
  return environment === 'live' ? EnvironmentMessage.LIVE : EnvironmentMessage.SANDBOX;
}

/** Exactly one environment of one workspace. Throws `invalid_request`. */
export function toTenant(request: { workspaceId: string; environment: EnvironmentMessage }): Tenant {
  const { workspaceId } = request;
  const [environment, more] = toEnvironments(request.environment);
  if (!environment || more) {
    throw new RmsError('invalid_request', { details: [{ field: 'environment', message: 'must be live or sandbox' }] });
  }
  return { workspaceId: checkWorkspace(workspaceId), environment };
}

/** The one that is named; unspecified is both. Throws `invalid_request`. */
export function toEnvironments(environment: EnvironmentMessage): readonly Environment[] {
  if (environment === EnvironmentMessage.LIVE) return ['live'];
  if (environment === EnvironmentMessage.SANDBOX) return ['sandbox'];
  if (environment === EnvironmentMessage.UNSPECIFIED) return ['live', 'sandbox'];
  throw new RmsError('invalid_request', { details: [{ field: 'environment', message: 'must be live or sandbox' }] });
}

/** Throws `invalid_request` if it is empty or longer than any id. */
export function checkWorkspace(workspaceId: string): string {
  if (workspaceId !== '' && workspaceId.length <= 64) return workspaceId;
  throw new RmsError('invalid_request', {
    details: [{ field: 'workspace_id', message: 'must be the id of a workspace' }],
  });
}
