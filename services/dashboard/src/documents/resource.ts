import { InputType, type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { enumNames } from '@rms/rpc';
import { timeOf } from './text.ts';

export const resourceStatuses = enumNames(ResourceStatus);
export type ResourceStatusName = (typeof resourceStatuses.names)[number];

export const inputTypes = enumNames(InputType);
export type InputTypeName = (typeof inputTypes.names)[number];

export interface ResourceDocument {
  readonly id: string;
  readonly name: string;
  readonly status: ResourceStatusName;
  /** `type` of the create request; null if it had none. The API does not return it. */
  readonly input_type: InputTypeName | null;
  /** Metadata as JSON text, which preserves the order and every key. */
  readonly metadata_json: string;
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

export function resourceDocument(resource: Resource): ResourceDocument {
  return {
    id: resource.id,
    name: resource.name,
    status: resourceStatuses.toName(resource.status) ?? 'active',
    input_type: inputTypes.toName(resource.inputType) ?? null,
    metadata_json: resource.metadataJson || '{}',
    created_at: timeOf(resource.createTime),
    updated_at: timeOf(resource.updateTime),
  };
}
