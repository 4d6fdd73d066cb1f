import { type Environment, environments } from '@rms/base/tenant';

/** A table with rows of workspaces. */
export interface WorkspaceTable {
  /** Name with schema. */
  readonly name: string;
  /**
   * Column for deleting rows in ranges. An index begins with workspace_id, environment and this column. Rows of
   * a tenant with the same value are deleted together, so there must be few.
   */
  readonly by: string;
  /** Set if the index begins with workspace_id and `by`. */
  readonly acrossEnvironments?: true;
  /** Set if rows of both environments have an empty environment. */
  readonly withEmptyEnvironment?: true;
}

/** All rows that a service stores for a workspace. */
export interface WorkspaceContents {
  /** Schema of the service. Contains the table `deleted_workspaces`. */
  readonly schema: 'auth' | 'resources' | 'webhooks' | 'alerts';
  /** Tables in the order of deleting their rows. */
  readonly tables: readonly WorkspaceTable[];
}

/** Rows of a table that are deleted in one pass. */
export interface Part {
  readonly table: WorkspaceTable;
  /** undefined: both environments together. */
  readonly environment: Environment | '' | undefined;
}

/** Returns the contents' parts in the order of their deletion. */
export function partsOf({ tables }: WorkspaceContents): Part[] {
  return tables.flatMap((table): Part[] =>
    table.acrossEnvironments
      ? [{ table, environment: undefined }]
      : [...environments, ...(table.withEmptyEnvironment ? ([''] as const) : [])].map((environment) => ({
          table,
          environment,
        })),
  );
}
