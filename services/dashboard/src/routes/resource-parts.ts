import type { Status } from '@rms/proto/google/rpc/status_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import { fromStatusMessage } from '@rms/rpc';
import { z } from 'zod';

/** Returns a batch result's resource, or throws its error. */
export function resourceOf(
  item:
    | { result: { case: 'resource'; value: Resource } | { case: 'error'; value: Status } | { case: undefined } }
    | undefined,
): Resource {
  if (item?.result.case === 'error') throw fromStatusMessage(item.result.value);
  if (item?.result.case !== 'resource') throw new Error('resources returned no resource');
  return item.result.value;
}

/** Metadata. The resources service validates the number and length of the entries. */
export const metadataBody = z.record(z.string().max(1_000), z.string().max(10_000));
