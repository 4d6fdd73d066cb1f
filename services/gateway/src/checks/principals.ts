import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { KeyEnvironment } from '@rms/api-key';
import { RmsError } from '@rms/errors';
import { type CidrList, parseCidrs } from '@rms/http';
import type { Limits } from '@rms/limiter';
import {
  type KeysService,
  KeyVerdict,
  type Limits as LimitsMessage,
  type VerifyKeyResult,
} from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, type Principal } from '@rms/proto/rms/common/v1/common_pb';
import { coalesce, type RpcClient } from '@rms/rpc';
import { LRUCache } from 'lru-cache';

/** A caller whose key auth has vouched for. */
export interface Caller {
  readonly principal: Principal;
  readonly allowedIps: CidrList;
  /** The version of the key that this verdict was made on. */
  readonly version: number;
  readonly limits: Limits;
  /** False: this verdict is from the cache, and may be up to half a minute old. */
  readonly fresh: boolean;
}

/** Says that a key is not let in, and whether there is such a key at all. */
export class KeyRefusal extends RmsError {
  /** False: whoever sent it has made it up. */
  readonly exists: boolean;

  constructor(code: 'invalid_api_key' | 'api_key_expired', exists: boolean) {
    super(code);
    this.exists = exists;
  }
}

interface Question {
  readonly keyHash: Uint8Array;
  readonly requestId: string;
}

const cacheSize = 10_000;
/** Shorter than the time for which marks of key changes stand in Redis. */
const cacheTtlMs = 30_000;

/** Behind an auth that hangs nobody waits longer than for its deadline and this. */
const gather = { maxWaitMs: 2_000 };

/** Finds out whose a key is: from a cache, else from auth; look-ups of one moment share a call. */
export class Principals {
  readonly #environment: Environment;
  readonly #cache = new LRUCache<string, Caller>({ max: cacheSize, ttl: cacheTtlMs });
  /** Keys that are none, or are revoked, and so never become valid; and whether each exists. */
  readonly #invalid = new LRUCache<string, boolean>({ max: cacheSize, ttl: cacheTtlMs });
  readonly #limits: Limits;
  readonly #verify: (question: Question) => Promise<VerifyKeyResult>;
  /** The latest look-up under way of each key. Only its answer is cached, and only if nothing made it void meanwhile. */
  readonly #latest = new Map<string, symbol>();

  /** @param limits those of keys and workspaces that have none of their own */
  constructor(
    auth: Pick<RpcClient<typeof KeysService>, 'batchVerifyKeys'>,
    environment: KeyEnvironment,
    limits: Limits,
  ) {
    this.#limits = limits;
    this.#environment = environment === 'live' ? Environment.LIVE : Environment.SANDBOX;
    this.#verify = coalesce(async (questions: Question[]) => {
      const requests = questions.map(({ keyHash, requestId }) => ({
        keyHash,
        environment: this.#environment,
        context: { requestId },
      }));
      return (await auth.batchVerifyKeys({ requests })).results;
    }, gather);
  }

  /** What is known of a key; undefined if auth has to be asked. Throws `invalid_api_key`. */
  cached(keyHash: Buffer): Caller | undefined {
    const cacheKey = keyHash.toString('base64');
    const caller = this.#cache.get(cacheKey);
    if (caller) return caller;
    const exists = this.#invalid.get(cacheKey);
    if (exists !== undefined) throw new KeyRefusal('invalid_api_key', exists);
    return undefined;
  }

  /** Asks auth for a request, whatever the cache holds. Throws `invalid_api_key` or `api_key_expired`. */
  async ask(keyHash: Buffer, requestId: string): Promise<Caller> {
    const cacheKey = keyHash.toString('base64');
    this.#cache.delete(cacheKey);
    const lookUp = Symbol();
    this.#latest.set(cacheKey, lookUp);
    try {
      const { verdict, principal, expireTime, allowedIps, version, limits, exists } = await this.#verify({
        keyHash,
        requestId,
      });
      if (verdict === KeyVerdict.INVALID) this.#invalid.set(cacheKey, exists);
      if (verdict === KeyVerdict.EXPIRED) throw new KeyRefusal('api_key_expired', true);
      if (verdict !== KeyVerdict.VALID || !principal) throw new KeyRefusal('invalid_api_key', exists);
      const caller: Caller = {
        principal,
        allowedIps: parseCidrs(allowedIps),
        version: Number(version),
        limits: toLimits(limits, this.#limits),
        fresh: true,
      };
      const ttl = expireTime ? Math.min(cacheTtlMs, timestampDate(expireTime).getTime() - Date.now()) : cacheTtlMs;
      if (this.#latest.get(cacheKey) === lookUp && ttl > 0)
        this.#cache.set(cacheKey, { ...caller, fresh: false }, { ttl });
      return caller;
    } finally {
      if (this.#latest.get(cacheKey) === lookUp) this.#latest.delete(cacheKey);
    }
  }

  /** A key has changed: nothing that was asked about it before now counts. */
  forget(keyHash: Buffer): void {
    const cacheKey = keyHash.toString('base64');
    this.#latest.delete(cacheKey);
    this.#cache.delete(cacheKey);
  }

  /** Marks may have been lost: nothing that is cached counts. */
  forgetAll(): void {
    this.#latest.clear();
    this.#cache.clear();
    this.#invalid.clear();
  }
}

/** The limits of a key, its workspace's plan and the installation, in this order. */
function toLimits(own: LimitsMessage | undefined, all: Limits): Limits {
  const or = (value: bigint | undefined, otherwise: number) => (value === undefined ? otherwise : Number(value));
  return {
    rateLimitRequests: or(own?.rateLimitRequests, all.rateLimitRequests),
    rateLimitWindowSeconds: or(own?.rateLimitWindowSeconds, all.rateLimitWindowSeconds),
    monthlyQuota: or(own?.monthlyQuota, all.monthlyQuota),
  };
}
