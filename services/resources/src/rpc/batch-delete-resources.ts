import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/base/errors';
import type {
  DeleteResourceRequest,
  DeleteResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import { causeOf } from '../resource/record.ts';
import { tenantOf } from '../resource/resource.ts';
import type { ChangeInBatch } from './change-in-batch.ts';
import { serveAll, toItemError } from './parts.ts';

type Result = MessageInitShape<typeof DeleteResourceResultSchema>;

export function batchDeleteResources(change: ChangeInBatch): Handlers<typeof ResourcesService>['batchDeleteResources'] {
  const deleteOne = async (request: DeleteResourceRequest, signal: AbortSignal): Promise<Result> => {
    try {
      const { context, id, expectedVersions } = request;
      const ref = { ...tenantOf(context), id };
      const answer = await change(
        { ref, cause: causeOf(context), expectedVersions, action: { kind: 'delete' } },
        signal,
      );
      if (answer instanceof RmsError) throw answer;
      return {};
    } catch (error) {
      return { error: toItemError(error) };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, deleteOne) });
}
