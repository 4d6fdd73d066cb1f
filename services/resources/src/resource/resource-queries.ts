import type { Environment, Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { InputType, Resource, ResourceStatus } from './resource.ts';

/** The key of a resource. */
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

/** Returns the columns of a resource. The metadata is read as text, so that it is returned unchanged. */
export const resourceColumns = (metadata = 'r.metadata') => `r.workspace_id, r.environment, r.id, r.status, r.name,
  (${metadata})::text as metadata, r.input_type, r.created_at, r.updated_at, r.sequence`;

const requested = 'unnest($1::text[], $2::text[], $3::text[]) as requested (workspace_id, environment, id)';

/** Reads the resources that exist among `refs`, in any order. For a pool that keeps plans. */
export async function readResources(db: Queryable, refs: readonly ResourceRef[]): Promise<Resource[]> {
  const { rows } = await db.query<ResourceRow>({
    name: 'resources-read',
    // With "offset 0", the plan is a lookup per reference, whatever the size of the table was when it was made.
    text: `
      select r.* from ${requested}
       cross join lateral (
               select ${resourceColumns()} from resources.resources as r
                where r.workspace_id = requested.workspace_id and r.environment = requested.environment
                  and r.id = requested.id offset 0
             ) as r`,
    values: refParameters(refs),
  });
  return rows.map(toResource);
}

/**
 * Reads the resources that exist among `refs` and locks them until the transaction ends. Rows are locked in key order,
 * so that two transactions cannot deadlock.
 */
export async function lockResources(tx: Queryable, refs: readonly ResourceRef[]): Promise<Resource[]> {
  const { rows } = await tx.query<ResourceRow>({
    name: 'resources-lock',
    text: `
      select ${resourceColumns()} from resources.resources as r
       where (r.workspace_id, r.environment, r.id) in (select workspace_id, environment, id from ${requested})
       order by r.workspace_id, r.environment, r.id
         for update`,
    values: refParameters(refs),
  });
  return rows.map(toResource);
}

/** Writes the columns that an update can change. The transaction must hold the row locks. */
export async function updateResources(tx: Queryable, resources: readonly Resource[]): Promise<void> {
  if (resources.length === 0) return;
  await tx.query({
    name: 'resources-update',
    text: `
      update resources.resources as r
         set status = u.status, name = u.name, metadata = u.metadata::json, updated_at = u.updated_at,
             sequence = u.sequence
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                    $8::bigint[])
          as u (workspace_id, environment, id, status, name, metadata, updated_at, sequence)
       where r.workspace_id = u.workspace_id and r.environment = u.environment and r.id = u.id`,
    values: [
      ...refParameters(resources),
      resources.map(({ status }) => status),
      resources.map(({ name }) => name),
      resources.map(({ metadataJson }) => metadataJson),
      resources.map(({ updatedAt }) => updatedAt),
      resources.map(({ sequence }) => sequence),
    ],
  });
}

/** Deletes the rows. The transaction must hold the row locks. */
export async function deleteResources(tx: Queryable, refs: readonly ResourceRef[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.query({
    name: 'resources-delete',
    text: `
      delete from resources.resources as r using ${requested}
       where r.workspace_id = requested.workspace_id and r.environment = requested.environment and r.id = requested.id`,
    values: refParameters(refs),
  });
}

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

function refParameters(refs: readonly ResourceRef[]): unknown[] {
  return [
    refs.map(({ workspaceId }) => workspaceId),
    refs.map(({ environment }) => environment),
    refs.map(({ id }) => id),
  ];
}
