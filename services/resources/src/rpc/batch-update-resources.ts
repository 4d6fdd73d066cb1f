import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/errors';
import type {
  ResourcesService,
  UpdateResourceRequest,
  UpdateResourceResultSchema,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Change } from '../resource/change.ts';
import { checkMetadata, checkName, type Resource, refuse } from '../resource/resource.ts';
import { fromStatusMessage, tenantOf, toResourceMessage } from '../resource/resource-message.ts';
import { serveAll, toItemError } from './parts.ts';

type Result = MessageInitShape<typeof UpdateResourceResultSchema>;

export function batchUpdateResources(
  change: (change: Change) => Promise<Resource | RmsError>,
): Handlers<typeof ResourcesService>['batchUpdateResources'] {
  const updateOne = async (request: UpdateResourceRequest): Promise<Result> => {
    try {
      const answer = await change(toChange(request));
      if (answer instanceof RmsError) throw answer;
      return { result: { case: 'resource', value: toResourceMessage(answer) } };
    } catch (error) {
      return { result: { case: 'error', value: toItemError(error) } };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, updateOne) });
}

function toChange({ context, id, name, status, metadataJson }: UpdateResourceRequest): Change {
  const metadata = metadataJson === undefined ? undefined : checkMetadata(metadataJson);
  const storedStatus = status === undefined ? undefined : fromStatusMessage(status);
  refuse([
    ...(name === undefined ? [] : checkName(name)),
    ...(metadata?.violations ?? []),
    ...(status !== undefined && !storedStatus
      ? [{ field: 'status', message: 'must be active, inactive or archived' }]
      : []),
  ]);
  const { requestId = '', traceparent = '' } = context ?? {};
  return {
    ref: { ...tenantOf(context), id },
    cause: { requestId, traceparent },
    action: { kind: 'update', update: { name, status: storedStatus, metadataJson: metadata?.metadataJson } },
  };
}
