import type { Message } from '@bufbuild/protobuf';
import { RmsError } from '@rms/base/errors';
import type { Ids } from '@rms/base/ids';
import { type DatabaseClock, type Pool, translatePgError } from '@rms/postgres/db';
import type { Status } from '@rms/proto/google/rpc/status_pb';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import { type ItemResult, type RpcContext, serveItem, toStatusMessage } from '@rms/rpc';
import type { CommittedEvent } from '../outbox/relay-queries.ts';

/** Dependencies of the handlers that write. */
export interface WriteParts {
  readonly pool: Pool;
  /** Pool for statements that find all rows by key. It keeps query plans. */
  readonly keyedPool: Pool;
  /** The number of partitions of the event topic. */
  readonly partitions: number;
  /** Whether audit entries leave out the name and the metadata of resources. */
  readonly eraseOnDelete: boolean;
  readonly clock: DatabaseClock;
  /** Generates IDs with the time of `clock`. */
  readonly newId: Ids;
  /** Gives the relay the committed events of new resources. */
  readonly created: (events: readonly CommittedEvent[]) => void;
  /** Wakes the relay after a commit that appended other events to these partitions. */
  readonly committed: (partitions: Iterable<number>) => void;
  /** Called with the error of every failed write. */
  readonly failed: (error: unknown) => void;
}

const batchLimit = 1_000;
/** Statements that a method runs concurrently. */
export const statementsInFlight = 2;

/** Rejects a batch that is larger than the gateway ever sends. */
function checkBatch(requests: readonly Message[]): void {
  if (requests.length <= batchLimit) return;
  throw new RmsError('invalid_request', { message: `A call must have at most ${batchLimit} items.` });
}

/** Converts an error to the status of an item in a batch response. */
export function toItemError(error: unknown): Status {
  return toStatusMessage(translatePgError(error));
}

/**
 * Serves all requests of a batch concurrently, each in its own trace. `work` gets the call's signal, which aborts
 * when the caller cancels or its deadline passes.
 */
export function serveAll<Request extends Message & { context?: CallContext | undefined }, Result extends ItemResult>(
  { method, signal }: RpcContext,
  requests: Request[],
  work: (request: Request, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  checkBatch(requests);
  return Promise.all(requests.map((request) => serveItem(method, request, (item) => work(item, signal))));
}
