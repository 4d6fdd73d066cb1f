import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import { type CallContext, Environment } from '@rms/proto/rms/common/v1/common_pb';
import { InputType, type ResourceSchema, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { Resource, InputType as StoredInputType, ResourceStatus as StoredStatus, Tenant } from './resource.ts';

const statuses: EnumNames<StoredStatus, ResourceStatus> = enumNames(ResourceStatus);

/** A resource as rms.resources.v1.Resource. */
export function toResourceMessage(resource: Resource): MessageInitShape<typeof ResourceSchema> {
  return {
    id: resource.id,
    status: toStatusMessage(resource.status),
    name: resource.name,
    metadataJson: resource.metadataJson,
    createTime: timestampFromDate(resource.createdAt),
    updateTime: timestampFromDate(resource.updatedAt),
    inputType: resource.inputType === 'advanced' ? InputType.ADVANCED : InputType.STANDARD,
  };
}

export function toStatusMessage(status: StoredStatus): ResourceStatus {
  return statuses.toValue(status);
}

/** Undefined if unspecified. */
export function fromStatusMessage(status: ResourceStatus): StoredStatus | undefined {
  return statuses.toName(status);
}

/** Unspecified is `standard`, the specification's default. */
export function fromInputTypeMessage(type: InputType): StoredInputType {
  return type === InputType.ADVANCED ? 'advanced' : 'standard';
}

/** Whose data a call is about. A call without a principal is a mistake of ours. */
export function tenantOf(context: CallContext | undefined): Tenant {
  const { workspaceId = '', environment = Environment.UNSPECIFIED } = context?.principal ?? {};
  const isOne = environment === Environment.LIVE || environment === Environment.SANDBOX;
  if (workspaceId === '' || !isOne) {
    throw new RmsError('internal_error', { cause: new Error('the call names no workspace and environment') });
  }
  return { workspaceId, environment: environment === Environment.LIVE ? 'live' : 'sandbox' };
}
