import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type Resource, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';

const statusNames = {
  [ResourceStatus.UNSPECIFIED]: '',
  [ResourceStatus.ACTIVE]: 'active',
  [ResourceStatus.INACTIVE]: 'inactive',
  [ResourceStatus.ARCHIVED]: 'archived',
};
const statusValues = {
  active: ResourceStatus.ACTIVE,
  inactive: ResourceStatus.INACTIVE,
  archived: ResourceStatus.ARCHIVED,
};

/** A resource as JSON; the metadata passes through as the text that it is. */
export function renderResource(resource: Resource): string {
  return (
    `{"id":"${resource.id}","type":"resource","status":"${statusNames[resource.status]}",` +
    `"name":${JSON.stringify(resource.name)},"metadata":${resource.metadataJson},` +
    `"created_at":"${renderTime(resource.createTime)}","updated_at":"${renderTime(resource.updateTime)}"}`
  );
}

export function toStatus(name: keyof typeof statusValues | undefined): ResourceStatus {
  return name === undefined ? ResourceStatus.UNSPECIFIED : statusValues[name];
}

/** ISO 8601 in UTC, to the millisecond. */
export function renderTime(time: Timestamp | undefined): string {
  return time ? new Date(Number(time.seconds) * 1000 + time.nanos / 1e6).toISOString() : '';
}
