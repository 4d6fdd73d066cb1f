import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type FieldViolation, RmsError } from '@rms/base/errors';
import { type Ids, idTime } from '@rms/base/ids';
import { type Environment, type Tenant, toTenant } from '@rms/base/tenant';
import { metadataProblems, resourceNameLength, textProblem } from '@rms/base/value-rules';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import {
  InputType as InputTypeMessage,
  type ResourceSchema,
  ResourceStatus as StatusMessage,
} from '@rms/proto/rms/resources/v1/resource_pb';
import { type EnumNames, enumNames } from '@rms/rpc';

export type ResourceStatus = 'active' | 'inactive' | 'archived';
export type InputType = 'standard' | 'advanced';

/** The three statuses in alphabetical order. */
export const statuses: readonly ResourceStatus[] = ['active', 'archived', 'inactive'];

export interface Resource extends Tenant {
  readonly id: string;
  readonly status: ResourceStatus;
  readonly name: string;
  /** A JSON object with string values, as text. */
  readonly metadataJson: string;
  readonly inputType: InputType;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Version of the resource: counts its events from 1. */
  readonly sequence: number;
}

/** Changes by a PATCH. Undefined attributes stay unchanged. */
export interface ResourceUpdate {
  readonly name: string | undefined;
  readonly status: ResourceStatus | undefined;
  readonly metadataJson: string | undefined;
}

/** Makes a new active resource. Its creation time is the time in its ID. */
export function makeResource(
  tenant: Tenant,
  input: { name: string; inputType: InputType; metadataJson: string },
  newId: Ids,
): Resource {
  const id = newId('res');
  const createdAt = new Date(idTime(id));
  return { ...tenant, ...input, id, status: 'active', createdAt, updatedAt: createdAt, sequence: 1 };
}

/**
 * Applies a PATCH. Returns the new resource and the previous values of the changed attributes. If none changed, the
 * resource is returned unchanged.
 */
export function applyUpdate(
  resource: Resource,
  update: ResourceUpdate,
  now: Date,
): { resource: Resource; previous: PreviousAttributes } {
  const name = update.name ?? resource.name;
  const status = update.status ?? resource.status;
  const metadataJson = update.metadataJson ?? resource.metadataJson;
  const previous: PreviousAttributes = {
    ...(name !== resource.name ? { name: resource.name } : {}),
    ...(status !== resource.status ? { status: resource.status } : {}),
    ...(sameMetadata(metadataJson, resource.metadataJson) ? {} : { metadataJson: resource.metadataJson }),
  };
  if (Object.keys(previous).length === 0) return { resource, previous };
  return { resource: { ...resource, name, status, metadataJson, updatedAt: nextUpdateTime(resource, now) }, previous };
}

/** Returns a change's time: strictly increasing, even if the clocks of two instances differ. */
export function nextUpdateTime({ updatedAt }: Resource, now: Date): Date {
  return new Date(Math.max(now.getTime(), updatedAt.getTime() + 1));
}

/** Fields that a change replaced, with their previous values. */
export type PreviousAttributes = Partial<Pick<Resource, 'name' | 'status' | 'metadataJson'>>;

function sameMetadata(a: string, b: string): boolean {
  return a === b || canonicalMetadata(a) === canonicalMetadata(b);
}

/** Returns the metadata as text with sorted keys, so that equal maps have equal texts. */
export function canonicalMetadata(metadataJson: string): string {
  const pairs = Object.entries(JSON.parse(metadataJson) as Record<string, string>);
  return JSON.stringify(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Checks the name. */
export function checkName(name: string): FieldViolation[] {
  const message = textProblem(name, 1, resourceNameLength);
  return message === undefined ? [] : [{ field: 'name', message }];
}

/** Checks the metadata. Returns it as normalized JSON. */
export function checkMetadata(metadataJson: string): { metadataJson: string; violations: FieldViolation[] } {
  let metadata: unknown;
  try {
    metadata = metadataJson === '' ? {} : JSON.parse(metadataJson);
  } catch {
    metadata = undefined;
  }
  const violations = metadataProblems(metadata).map(({ path, message }) => ({
    field: ['metadata', ...path].join('.'),
    message,
  }));
  return { metadataJson: violations.length > 0 ? metadataJson : JSON.stringify(metadata), violations };
}

/** Throws `invalid_request` if there are any violations. */
export function refuse(violations: readonly FieldViolation[]): void {
  if (violations.length > 0) throw new RmsError('invalid_request', { details: violations });
}

// As a row of resources.resources.

/** A resource's key. */
export type ResourceRef = Tenant & { readonly id: string };

export interface ResourceRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  status: ResourceStatus;
  name: string;
  metadata: string;
  input_type: InputType;
  created_at: Date;
  updated_at: Date;
  sequence: string;
}

/** Returns a resource's columns. The metadata is read as text, so that it is returned unchanged. */
export const resourceColumns = (metadata = 'r.metadata') => `r.workspace_id, r.environment, r.id, r.status, r.name,
  (${metadata})::text as metadata, r.input_type, r.created_at, r.updated_at, r.sequence`;

export const requested = 'unnest($1::text[], $2::text[], $3::text[]) as requested (workspace_id, environment, id)';

/** Returns a text that identifies a resource across all tenants. */
export function refKey({ workspaceId, environment, id }: ResourceRef): string {
  return `${workspaceId}/${environment}/${id}`;
}

export function toResource(row: ResourceRow): Resource {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    status: row.status,
    name: row.name,
    metadataJson: row.metadata,
    inputType: row.input_type,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    sequence: Number(row.sequence),
  };
}

export function refParameters(refs: readonly ResourceRef[]): unknown[] {
  return [
    refs.map(({ workspaceId }) => workspaceId),
    refs.map(({ environment }) => environment),
    refs.map(({ id }) => id),
  ];
}

// As a message, rms.resources.v1.Resource.

const statusMessages: EnumNames<ResourceStatus, StatusMessage> = enumNames(StatusMessage);

/** Converts a resource to rms.resources.v1.Resource. */
export function toResourceMessage(resource: Resource): MessageInitShape<typeof ResourceSchema> {
  return {
    id: resource.id,
    status: toStatusMessage(resource.status),
    name: resource.name,
    metadataJson: resource.metadataJson,
    createTime: timestampFromDate(resource.createdAt),
    updateTime: timestampFromDate(resource.updatedAt),
    inputType: resource.inputType === 'advanced' ? InputTypeMessage.ADVANCED : InputTypeMessage.STANDARD,
    version: BigInt(resource.sequence),
  };
}

export function toStatusMessage(status: ResourceStatus): StatusMessage {
  return statusMessages.toValue(status);
}

/** Returns undefined for UNSPECIFIED. */
export function fromStatusMessage(status: StatusMessage): ResourceStatus | undefined {
  return statusMessages.toName(status);
}

/** Maps UNSPECIFIED to `standard`, the API's default. */
export function fromInputTypeMessage(type: InputTypeMessage): InputType {
  return type === InputTypeMessage.ADVANCED ? 'advanced' : 'standard';
}

/** Returns a call's tenant. Throws `internal_error` if the call has no principal, which indicates a bug. */
export function tenantOf(context: CallContext | undefined): Tenant {
  if (context?.principal) return toTenant(context.principal);
  throw new RmsError('internal_error', { cause: new Error('the call context has no principal') });
}
