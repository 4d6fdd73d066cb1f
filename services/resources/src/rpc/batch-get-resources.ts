import type { MessageInitShape } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Pool } from '@rms/postgres/db';
import type {
  GetResourceRequest,
  GetResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Resource } from '../resource/resource.ts';
import { tenantOf, toResourceMessage } from '../resource/resource-message.ts';
import { type ResourceRef, readResources, refKey } from '../resource/resource-queries.ts';
import { serveAll, toItemError } from './parts.ts';

type Result = MessageInitShape<typeof GetResourceResultSchema>;

const statementBatch = 500;
const statementsInFlight = 2;

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
    { maxBatch: statementBatch, maxInFlight: statementsInFlight, laneOf: ({ workspaceId }) => workspaceId },
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
