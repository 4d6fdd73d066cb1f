import { InputType, type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { timeOf } from './text.ts';

export const resourceStatusNames = ['active', 'inactive', 'archived'] as const;
export type ResourceStatusName = (typeof resourceStatusNames)[number];

const statuses: Readonly<Record<ResourceStatusName, ResourceStatus>> = {
  active: ResourceStatus.ACTIVE,
  inactive: ResourceStatus.INACTIVE,
  archived: ResourceStatus.ARCHIVED,
};

export const inputTypeNames = ['standard', 'advanced'] as const;
export type InputTypeName = (typeof inputTypeNames)[number];

export interface ResourceDocument {
  readonly id: string;
  readonly name: string;
  readonly status: ResourceStatusName;
  /** The `type` that the create request sent; null: none. The API does not return it. */
  readonly input_type: InputTypeName | null;
  /** JSON text of the metadata: it keeps their order and every key. */
  readonly metadata_json: string;
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

export function toResourceStatus(name: ResourceStatusName): ResourceStatus {
  return statuses[name];
}

export function toInputType(name: InputTypeName): InputType {
  return name === 'advanced' ? InputType.ADVANCED : InputType.STANDARD;
}

export function resourceDocument(resource: Resource): ResourceDocument {
  return {
    id: resource.id,
    name: resource.name,
    status: resourceStatusNames.find((name) => statuses[name] === resource.status) ?? 'active',
    input_type:
      resource.inputType === InputType.ADVANCED
        ? 'advanced'
        : resource.inputType === InputType.STANDARD
          ? 'standard'
          : null,
    metadata_json: resource.metadataJson || '{}',
    created_at: timeOf(resource.createTime),
    updated_at: timeOf(resource.updateTime),
  };
}
