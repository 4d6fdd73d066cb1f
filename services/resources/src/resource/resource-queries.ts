import type { Environment, Tenant } from '@rms/base/tenant';
import type { InputType, Resource, ResourceStatus } from './resource.ts';

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
