import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';

const statusNames: Readonly<Record<ResourceStatus, string>> = {
  [ResourceStatus.UNSPECIFIED]: 'active',
  [ResourceStatus.ACTIVE]: 'active',
  [ResourceStatus.INACTIVE]: 'inactive',
  [ResourceStatus.ARCHIVED]: 'archived',
};

/** A resource as the API shows it. Its metadata are JSON already, and stay as they are. */
export function resourceJson({ id, status, name, metadataJson, createTime, updateTime }: Resource): string {
  if (!createTime || !updateTime) throw new Error(`resource ${id} came without its times`);
  const createdAt = timestampDate(createTime).toISOString();
  const updatedAt = timestampDate(updateTime).toISOString();
  return (
    `{"id":"${id}","type":"resource","status":"${statusNames[status]}","name":${JSON.stringify(name)},` +
    `"metadata":${metadataJson || '{}'},"created_at":"${createdAt}","updated_at":"${updatedAt}"}`
  );
}
