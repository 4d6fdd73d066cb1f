import type { Status } from '@rms/proto/google/rpc/status_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import { fromStatusMessage } from '@rms/rpc';
import { z } from 'zod';

/** The resource of an answer to one item, or its error thrown. */
export function resourceOf(
  item:
    | { result: { case: 'resource'; value: Resource } | { case: 'error'; value: Status } | { case: undefined } }
    | undefined,
): Resource {
  if (item?.result.case === 'error') throw fromStatusMessage(item.result.value);
  if (item?.result.case !== 'resource') throw new Error('resources answered without a resource');
  return item.result.value;
}

/** Metadata as the API takes them; resources checks their number and length. */
export const metadataBody = z.record(z.string().max(1_000), z.string().max(10_000));
