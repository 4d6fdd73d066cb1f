import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { type Tenant, toTenant } from '@rms/base/tenant';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import { InputType, type ResourceSchema, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { Resource, InputType as StoredInputType, ResourceStatus as StoredStatus } from './resource.ts';

const statuses: EnumNames<StoredStatus, ResourceStatus> = enumNames(ResourceStatus);

/** Converts a resource to rms.resources.v1.Resource. */
export function toResourceMessage(resource: Resource): MessageInitShape<typeof ResourceSchema> {
  return {
    id: resource.id,
    status: toStatusMessage(resource.status),
    name: resource.name,
    metadataJson: resource.metadataJson,
    createTime: timestampFromDate(resource.createdAt),
    updateTime: timestampFromDate(resource.updatedAt),
    inputType: resource.inputType === 'advanced' ? InputType.ADVANCED : InputType.STANDARD,
    version: BigInt(resource.sequence),
  };
}

export function toStatusMessage(status: StoredStatus): ResourceStatus {
  return statuses.toValue(status);
}

/** Returns undefined for UNSPECIFIED. */
export function fromStatusMessage(status: ResourceStatus): StoredStatus | undefined {
  return statuses.toName(status);
}

/** Maps UNSPECIFIED to `standard`, the API's default. */
export function fromInputTypeMessage(type: InputType): StoredInputType {
  return type === InputType.ADVANCED ? 'advanced' : 'standard';
}

/** Returns a call's tenant. Throws `internal_error` if the call has no principal, which indicates a bug. */
export function tenantOf(context: CallContext | undefined): Tenant {
  if (context?.principal) return toTenant(context.principal);
  throw new RmsError('internal_error', { cause: new Error('the call context has no principal') });
}
