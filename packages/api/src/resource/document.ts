import { InputType, type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { presentTimeOf } from '../times.ts';

export const resourceStatuses = enumNames(ResourceStatus);
export const inputTypes = enumNames(InputType);

/**
 * Returns the API representation of a resource. Its metadata is already JSON and is inserted unchanged.
 * @param withInputType adds `input_type`, which only pages show
 */
export function resourceJson(resource: Resource, withInputType = false): string {
  const { id, status, name, metadataJson, inputType, createTime, updateTime } = resource;
  const more = withInputType ? `,"input_type":${JSON.stringify(inputTypes.toName(inputType) ?? null)}` : '';
  return (
    `{"id":"${id}","type":"resource","status":"${resourceStatuses.toName(status) ?? 'active'}",` +
    `"name":${JSON.stringify(name)},"metadata":${metadataJson || '{}'},` +
    `"created_at":"${presentTimeOf(createTime)}","updated_at":"${presentTimeOf(updateTime)}"${more}}`
  );
}
