import { createHash } from 'node:crypto';
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { inCall } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { SealContext, SecretBox } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';
import { idempotencyKeyProblem } from '@rms/base/value-rules';
import { deleteInBatches, inTransaction, type Pool, type Queryable } from '../db/index.ts';

/** A request that may have an Idempotency-Key. */
export interface IdempotentRequest {
  /** Called only if there is a key. */
  tenant(): Tenant;
  /**
   * Separates the keys per endpoint of a service. Empty for the creation of webhooks: their keys are stored as the
   * client sent them.
   */
  readonly operation: string;
  /** Empty: the client sent none. */
  readonly key: string;
  /** Content that a repeated request must also have. Compared as JSON. */
  readonly content: unknown;
}

/** Result of a request that may have been made before. */
interface Outcome<Desc extends DescMessage> {
  readonly response: MessageShape<Desc>;
  /** Whether this is the stored response of an earlier request. */
  readonly replayed: boolean;
}

/** Runs in the transaction that claims the key. */
type Perform<State> = (tx: Queryable) => Promise<State>;

const storedSeconds = 24 * 3_600;
/** Stands for a response without fields: an empty answer means that the first request is in progress. */
const noFields = Uint8Array.of(0);
/** Longer than any `act` takes. */
const claimedSeconds = 60;

/** Thrown to roll back if the key is already taken. */
class KeyTaken extends Error {}

interface IdempotencyParts {
  readonly pool: Pool;
  readonly box: SecretBox;
  readonly schema: IdempotencySchema;
  /** Binds an encrypted response to its record. */
  readonly contextOf: (ref: IdempotencyRef) => SealContext;
}

/**
 * Makes requests with an Idempotency-Key take effect once. Responses are stored for 24 hours, encrypted. Both methods
 * throw `invalid_request` for an invalid key, and `idempotency_key_reused` if the key belongs to a request with other
 * content. A stored response is returned to every caller of the tenant. If it contains a secret, it must also contain
 * the caller that may see it, and the handler must remove the secret for others.
 */
export class Idempotency {
  readonly #parts: IdempotencyParts;

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
  }

  /** Runs `perform` and stores its response in one transaction. */
  async once<Desc extends DescMessage>(
    request: IdempotentRequest,
    desc: Desc,
    perform: Perform<MessageInitShape<Desc>>,
  ): Promise<Outcome<Desc>> {
    const { pool, schema } = this.#parts;
    if (request.key === '') return { response: create(desc, await inTransaction(pool, perform)), replayed: false };
    const { ref, fingerprint } = recordOf(request);
    return this.#orStored({ ref, fingerprint }, desc, () =>
      inTransaction(pool, async (tx) => {
        const claimed = await this.#claim(tx, ref, fingerprint, storedSeconds);
        const response = create(desc, await perform(tx));
        await storeResponse(tx, schema, claimed, this.#sealResponse(desc, response, ref), storedSeconds);
        return response;
      }),
    );
  }

  /**
   * Runs `prepare` in a transaction, then `act` without one, for effects such as an HTTP call. A repetition during
   * `act` throws `conflict`. If `act` throws, the key is released; if the process dies, the key expires after a minute.
   * `act` does not end with the call (packages/async, `CallScope`).
   */
  async onceAround<Desc extends DescMessage, State>(
    request: IdempotentRequest,
    desc: Desc,
    { prepare, act }: { prepare: Perform<State>; act(state: State): Promise<MessageInitShape<Desc>> },
  ): Promise<Outcome<Desc>> {
    const { pool, schema } = this.#parts;
    if (request.key === '') {
      return { response: create(desc, await act(await inTransaction(pool, prepare))), replayed: false };
    }
    const { ref, fingerprint } = recordOf(request);
    return this.#orStored({ ref, fingerprint }, desc, async () => {
      const { claimed, state } = await inTransaction(pool, async (tx) => {
        const claimed = await this.#claim(tx, ref, fingerprint, claimedSeconds);
        return { claimed, state: await prepare(tx) };
      });
      // Does not end with the call: a repetition must find the outcome, and must not repeat the effect.
      return inCall(undefined, async () => {
        try {
          const response = create(desc, await act(state));
          await storeResponse(pool, schema, claimed, this.#sealResponse(desc, response, ref), storedSeconds);
          return response;
        } catch (error) {
          await releaseKey(pool, schema, claimed);
          throw error;
        }
      });
    });
  }

  /** Returns the result of `run`, or the stored response if the key is taken. */
  async #orStored<Desc extends DescMessage>(
    { ref, fingerprint }: { ref: IdempotencyRef; fingerprint: Buffer },
    desc: Desc,
    run: () => Promise<MessageInitShape<Desc>>,
  ): Promise<Outcome<Desc>> {
    const { pool, box, schema, contextOf } = this.#parts;
    try {
      return { response: create(desc, await run()), replayed: false };
    } catch (error) {
      if (!(error instanceof KeyTaken)) throw error;
    }
    const stored = await readResponse(pool, schema, ref);
    // The record has expired or was released since then.
    if (!stored) throw new RmsError('conflict');
    if (!stored.fingerprint.equals(fingerprint)) throw new RmsError('idempotency_key_reused');
    const bytes = box.open(stored.answer, contextOf(ref));
    if (bytes.length === 0) {
      throw new RmsError('conflict', { message: 'The first request with this Idempotency-Key is still in progress.' });
    }
    return { response: fromBinary(desc, bytes.equals(noFields) ? new Uint8Array() : bytes), replayed: true };
  }

  async #claim(tx: Queryable, ref: IdempotencyRef, fingerprint: Buffer, seconds: number): Promise<ClaimedRef> {
    const answer = this.#seal(new Uint8Array(), ref);
    const isClaimed = await claimKey(tx, this.#parts.schema, ref, { fingerprint, answer }, seconds);
    if (!isClaimed) throw new KeyTaken();
    return { ...ref, claim: answer };
  }

  #sealResponse<Desc extends DescMessage>(desc: Desc, response: MessageShape<Desc>, ref: IdempotencyRef): Buffer {
    const bytes = toBinary(desc, response);
    return this.#seal(bytes.length > 0 ? bytes : noFields, ref);
  }

  #seal(bytes: Uint8Array, ref: IdempotencyRef): Buffer {
    return this.#parts.box.seal(bytes, this.#parts.contextOf(ref));
  }
}

/** Returns the primary key and fingerprint of a request's record. Throws `invalid_request` if its key is invalid. */
function recordOf({ tenant, operation, key, content }: IdempotentRequest) {
  const message = idempotencyKeyProblem(key);
  if (message !== undefined) {
    throw new RmsError('invalid_request', { details: [{ field: 'Idempotency-Key', message }] });
  }
  const { workspaceId, environment } = tenant();
  const stored = operation === '' ? key : sha256([workspaceId, environment, operation, key]).toString('hex');
  const ref: IdempotencyRef = { workspaceId, environment, key: stored };
  return { ref, fingerprint: sha256(content) };
}

function sha256(content: unknown): Buffer {
  return createHash('sha256').update(JSON.stringify(content)).digest();
}

/** Database schema with a table `idempotency_keys`, which has the same columns in each, and `agreed_now()`. */
type IdempotencySchema = 'webhooks' | 'auth' | 'alerts';

/** Primary key of a record. */
interface IdempotencyRef extends Tenant {
  readonly key: string;
}

/** A key that a request has claimed. */
interface ClaimedRef extends IdempotencyRef {
  /** The `answer` stored by the claim: an empty response. It is unique, because encryption is randomized. */
  readonly claim: Buffer;
}

/** A key's record. */
interface StoredResponse {
  /** SHA-256 of the request. */
  readonly fingerprint: Buffer;
  /** Encrypted. Decrypts to zero bytes while the request is in progress. */
  readonly answer: Buffer;
}

/** Claims a key for `seconds`. Returns false if it is taken. Waits for a concurrent transaction that claims it. */
async function claimKey(
  tx: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key }: IdempotencyRef,
  { fingerprint, answer }: StoredResponse,
  seconds: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into ${schema}.idempotency_keys as k (workspace_id, environment, key, fingerprint, answer, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 second')
         on conflict (workspace_id, environment, key) do update
        set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
      where k.expires_at <= ${schema}.agreed_now()`,
    [workspaceId, environment, key, fingerprint, answer, seconds],
  );
  return rowCount === 1;
}

/** Stores the response under a claimed key for `seconds`, unless another request has claimed the key since. */
async function storeResponse(
  db: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key, claim }: ClaimedRef,
  answer: Buffer,
  seconds: number,
): Promise<void> {
  await db.query(
    `update ${schema}.idempotency_keys set answer = $5, expires_at = now() + $6 * interval '1 second'
      where workspace_id = $1 and environment = $2 and key = $3 and answer = $4`,
    [workspaceId, environment, key, claim, answer, seconds],
  );
}

/** Releases a claimed key, unless another request has claimed it since. */
async function releaseKey(
  db: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key, claim }: ClaimedRef,
): Promise<void> {
  await db.query(
    `delete from ${schema}.idempotency_keys where workspace_id = $1 and environment = $2 and key = $3 and answer = $4`,
    [workspaceId, environment, key, claim],
  );
}

/** Reads the response stored under a key; undefined without one, or if it has expired. */
async function readResponse(
  db: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key }: IdempotencyRef,
): Promise<StoredResponse | undefined> {
  const { rows } = await db.query<{ fingerprint: Buffer; answer: Buffer }>(
    `select fingerprint, answer from ${schema}.idempotency_keys
      where workspace_id = $1 and environment = $2 and key = $3 and expires_at > ${schema}.agreed_now()`,
    [workspaceId, environment, key],
  );
  return rows[0];
}

/** Deletes expired keys. Returns the number of deleted keys. */
export function deleteExpiredKeys(
  db: Queryable,
  schema: IdempotencySchema | 'resources',
  signal?: AbortSignal,
): Promise<number> {
  return deleteInBatches(db, `${schema}.idempotency_keys`, { where: `expires_at <= ${schema}.agreed_now()` }, signal);
}
