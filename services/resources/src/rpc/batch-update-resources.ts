import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/base/errors';
import type {
  ResourcesService,
  UpdateResourceRequest,
  UpdateResourceResultSchema,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Change } from '../resource/change.ts';
import { causeOf } from '../resource/record.ts';
import {
  checkMetadata,
  checkName,
  fromStatusMessage,
  refuse,
  tenantOf,
  toResourceMessage,
} from '../resource/resource.ts';
import type { ChangeInBatch } from './change-in-batch.ts';
import { serveAll, toItemError } from './parts.ts';

type Result = MessageInitShape<typeof UpdateResourceResultSchema>;

export function batchUpdateResources(change: ChangeInBatch): Handlers<typeof ResourcesService>['batchUpdateResources'] {
  const updateOne = async (request: UpdateResourceRequest, signal: AbortSignal): Promise<Result> => {
    try {
      const response = await change(toChange(request), signal);
      if (response instanceof RmsError) throw response;
      return { result: { case: 'resource', value: toResourceMessage(response) } };
    } catch (error) {
      return { result: { case: 'error', value: toItemError(error) } };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, updateOne) });
}

function toChange({ context, id, name, status, metadataJson, expectedVersions }: UpdateResourceRequest): Change {
  const metadata = metadataJson === undefined ? undefined : checkMetadata(metadataJson);
  const storedStatus = status === undefined ? undefined : fromStatusMessage(status);
  refuse([
    ...(name === undefined ? [] : checkName(name)),
    ...(metadata?.violations ?? []),
    ...(status !== undefined && !storedStatus
      ? [{ field: 'status', message: 'must be active, inactive or archived' }]
      : []),
  ]);
  return {
    ref: { ...tenantOf(context), id },
    cause: causeOf(context),
    expectedVersions,
    action: { kind: 'update', update: { name, status: storedStatus, metadataJson: metadata?.metadataJson } },
  };
}
