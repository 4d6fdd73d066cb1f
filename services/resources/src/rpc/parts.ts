import type { Message } from '@bufbuild/protobuf';
import type { Pool } from '@rms/db';
import { translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Status } from '@rms/proto/google/rpc/status_pb';
import { toStatusMessage } from '@rms/rpc';

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
export function checkBatch(requests: readonly Message[]): void {
  if (requests.length > batchLimit)
    throw new RmsError('invalid_request', { message: 'too many requests in one batch' });
}

/** An item's error as it stands in a batch's answer. */
export function toItemError(error: unknown): Status {
  return toStatusMessage(translatePgError(error));
}
