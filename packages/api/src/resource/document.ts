import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import type { OneObject } from '../single-object.ts';

const statusNames: Readonly<Record<ResourceStatus, string>> = {
  [ResourceStatus.UNSPECIFIED]: 'active',
  [ResourceStatus.ACTIVE]: 'active',
  [ResourceStatus.INACTIVE]: 'inactive',
  [ResourceStatus.ARCHIVED]: 'archived',
};

/** Returns a resource for a response with one object. */
export function oneResourceOf(resource: Resource): OneObject {
  return { json: resourceJson(resource), version: resource.version };
}

/** Returns the API representation of a resource. Its metadata is already JSON and is inserted unchanged. */
export function resourceJson({ id, status, name, metadataJson, createTime, updateTime }: Resource): string {
  if (!createTime || !updateTime) throw new Error(`resource ${id} has no timestamps`);
  const createdAt = timestampDate(createTime).toISOString();
  const updatedAt = timestampDate(updateTime).toISOString();
  return (
    `{"id":"${id}","type":"resource","status":"${statusNames[status]}","name":${JSON.stringify(name)},` +
    `"metadata":${metadataJson || '{}'},"created_at":"${createdAt}","updated_at":"${updatedAt}"}`
  );
}
