import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/errors';
import type {
  DeleteResourceRequest,
  DeleteResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Change } from '../resource/change.ts';
import type { Resource } from '../resource/resource.ts';
import { tenantOf } from '../resource/resource-message.ts';
import { serveAll, toItemError } from './parts.ts';

type Result = MessageInitShape<typeof DeleteResourceResultSchema>;

export function batchDeleteResources(
  change: (change: Change) => Promise<Resource | RmsError>,
): Handlers<typeof ResourcesService>['batchDeleteResources'] {
  const deleteOne = async ({ context, id }: DeleteResourceRequest): Promise<Result> => {
    try {
      const { requestId = '', traceparent = '' } = context ?? {};
      const cause = { requestId, traceparent };
      const answer = await change({ ref: { ...tenantOf(context), id }, cause, action: { kind: 'delete' } });
      if (answer instanceof RmsError) throw answer;
      return {};
    } catch (error) {
      return { error: toItemError(error) };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, deleteOne) });
}
