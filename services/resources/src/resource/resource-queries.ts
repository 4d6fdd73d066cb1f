import type { Queryable } from '@rms/db';
import type { Environment, InputType, Resource, ResourceStatus, Tenant } from './resource.ts';

/** Names one resource of one tenant. */
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

/** metadata as text: it passes through as it is. */
export const resourceColumns = `r.workspace_id, r.environment, r.id, r.status, r.name, r.metadata::text as metadata,
  r.input_type, r.created_at, r.updated_at, r.sequence`;

const asked = 'unnest($1::text[], $2::text[], $3::text[]) as asked (workspace_id, environment, id)';

/** The resources that exist among these, in any order. */
export async function readResources(db: Queryable, refs: readonly ResourceRef[]): Promise<Resource[]> {
  const { rows } = await db.query<ResourceRow>({
    name: 'resources-read',
    text: `select ${resourceColumns} from ${asked} join resources.resources as r using (workspace_id, environment, id)`,
    values: refParameters(refs),
  });
  return rows.map(toResource);
}

/** The same, locked until the transaction ends; in the order of their keys, so that no two wait in a circle. */
export async function lockResources(tx: Queryable, refs: readonly ResourceRef[]): Promise<Resource[]> {
  const { rows } = await tx.query<ResourceRow>({
    name: 'resources-lock',
    text: `
      select ${resourceColumns} from resources.resources as r
       where (r.workspace_id, r.environment, r.id) in (select workspace_id, environment, id from ${asked})
       order by r.workspace_id, r.environment, r.id
         for update`,
    values: refParameters(refs),
  });
  return rows.map(toResource);
}

/** Writes what an update may change. The rows are locked by this transaction. */
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

/** Removes rows that are locked by this transaction. */
export async function deleteResources(tx: Queryable, refs: readonly ResourceRef[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.query({
    name: 'resources-delete',
    text: `
      delete from resources.resources as r using ${asked}
       where r.workspace_id = asked.workspace_id and r.environment = asked.environment and r.id = asked.id`,
    values: refParameters(refs),
  });
}

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
