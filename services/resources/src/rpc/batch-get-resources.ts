import type { MessageInitShape } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Pool, Queryable } from '@rms/postgres/db';
import type {
  GetResourceRequest,
  GetResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import {
  type Resource,
  type ResourceRef,
  type ResourceRow,
  refKey,
  refParameters,
  requested,
  resourceColumns,
  tenantOf,
  toResource,
  toResourceMessage,
} from '../resource/resource.ts';
import { serveAll, statementsInFlight, toItemError } from './parts.ts';

type Result = MessageInitShape<typeof GetResourceResultSchema>;

const statementBatch = 500;

/** Collects the lookups of concurrent calls into one statement. */
export function batchGetResources({
  keyedPool,
}: {
  keyedPool: Pool;
}): Handlers<typeof ResourcesService>['batchGetResources'] {
  const readTogether = coalesce(
    async (refs: ResourceRef[]): Promise<(Resource | undefined)[]> => {
      const found = new Map((await readResources(keyedPool, refs)).map((resource) => [refKey(resource), resource]));
      return refs.map((ref) => found.get(refKey(ref)));
    },
    { maxBatch: statementBatch, maxInFlight: statementsInFlight, tenantOf: ({ workspaceId }) => workspaceId },
  );
  const getOne = async ({ context, id }: GetResourceRequest, signal: AbortSignal): Promise<Result> => {
    try {
      const resource = await readTogether({ ...tenantOf(context), id }, signal);
      if (!resource) throw new RmsError('not_found', { message: `There is no resource "${id}".` });
      return { result: { case: 'resource', value: toResourceMessage(resource) } };
    } catch (error) {
      return { result: { case: 'error', value: toItemError(error) } };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, getOne) });
}

/** Reads the resources that exist among `refs`, in any order. For a pool that keeps plans. */
async function readResources(db: Queryable, refs: readonly ResourceRef[]): Promise<Resource[]> {
  const { rows } = await db.query<ResourceRow>({
    name: 'resources-read',
    // With "offset 0", the plan is a lookup per reference, whatever the table's size was when it was made.
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
