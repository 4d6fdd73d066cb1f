import type { Message, MessageInitShape } from '@bufbuild/protobuf';
import type { Pool } from '@rms/db';
import { translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Status, StatusSchema } from '@rms/proto/google/rpc/status_pb';
import { type CallContext, fromStatusMessage, type RpcContext, serveItem, toStatusMessage } from '@rms/rpc';

/** What the handlers that write need. */
export interface WriteParts {
  readonly pool: Pool;
  /** Of the topic of events. */
  readonly partitions: number;
  /** Wakes the relay after a commit that appended events of these partitions. */
  readonly committed: (partitions: Iterable<number>) => void;
  /** Told of a write that has failed. */
  readonly failed: (error: unknown) => void;
}

const batchLimit = 1_000;

/** Refuses a batch that no gateway of ours sends. */
function checkBatch(requests: readonly Message[]): void {
  if (requests.length > batchLimit)
    throw new RmsError('invalid_request', { message: 'too many requests in one batch' });
}

/** An item's error as it stands in a batch's answer. */
export function toItemError(error: unknown): Status {
  return toStatusMessage(translatePgError(error));
}

/** What an item of a batch's answer holds, as far as errors go. */
interface ItemResult {
  readonly result?: { readonly case?: string | undefined; readonly value?: unknown } | undefined;
  readonly error?: MessageInitShape<typeof StatusSchema> | undefined;
}

/** Serves all requests of a batch at once, each in its own trace. */
export function serveAll<Request extends Message & { context?: CallContext | undefined }, Result extends ItemResult>(
  { method }: Pick<RpcContext, 'method'>,
  requests: Request[],
  work: (request: Request) => Promise<Result>,
): Promise<Result[]> {
  checkBatch(requests);
  return Promise.all(requests.map((request) => serveItem(method, request, { work, errorOf })));
}

function errorOf({ result, error }: ItemResult): unknown {
  const status = result?.case === 'error' ? (result.value as Status) : error;
  return status && fromStatusMessage(status as Status);
}
