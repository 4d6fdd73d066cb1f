import { timestampDate } from '@bufbuild/protobuf/wkt';
import { coalesce, FairCache } from '@rms/async';
import { type CidrList, parseCidrs } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import type { KeyGrant } from '@rms/base/roles';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import type { Limits } from '@rms/limits';
import {
  type KeysService,
  KeyVerdict,
  type Limits as LimitsMessage,
  type VerifyKeyResult,
} from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Environment as EnvironmentMessage, Principal } from '@rms/proto/rms/common/v1/common_pb';
import { fromKeyGrantMessage, type RpcClient } from '@rms/rpc';
import { LRUCache } from 'lru-cache';

/** A caller with a valid key. */
export interface Caller {
  readonly principal: Principal;
  readonly grant: KeyGrant;
  readonly keyName: string;
  readonly allowedIps: CidrList;
  /** Version of the key that the verdict applies to. */
  readonly version: number;
  readonly limits: Limits;
  /** Webhooks that the workspace's plan allows; 0: no limit. undefined: the plan sets none. */
  readonly maxWebhooks: bigint | undefined;
  /** Whether auth returned this verdict for this request. false: it is from the cache and up to 30 seconds old. */
  readonly fresh: boolean;
}

/** One message for both causes, because two messages would reveal which keys have existed. */
const unknownOrRevoked = 'The API key does not exist or has been revoked.';

/** A key's rejection. */
export class KeyRefusal extends RmsError {
  /** Whether the key exists. Unknown keys count as guesses. */
  readonly exists: boolean;

  constructor(code: 'invalid_api_key' | 'api_key_expired', exists: boolean) {
    super(code, code === 'invalid_api_key' ? { message: unknownOrRevoked } : {});
    this.exists = exists;
  }
}

interface Question {
  readonly keyHash: Uint8Array;
  readonly requestId: string;
}

const cacheSize = 10_000;
/** Maximum number of keys remembered as valid, in addition to the cached ones, and their TTL since the last verdict. */
const recentSize = 50_000;
const recentTtlMs = 24 * 60 * 60 * 1000;
/** Shorter than the TTL of revocation markers in Redis. */
const cacheTtlMs = 30_000;

/** If auth hangs, a lookup waits at most for the RPC deadline plus `maxWaitMs`. */
const gather = { maxWaitMs: 4_000 };

/** Resolves keys to callers, from a cache or by auth. Concurrent lookups share an RPC. */
export class Principals {
  readonly #environment: EnvironmentMessage;
  readonly #cache = new FairCache<Caller>({ max: cacheSize, ttlMs: cacheTtlMs });
  /**
   * Keys that are unknown or revoked, and therefore never become valid. Value: whether the key exists. Other addresses
   * can evict an entry, which costs one lookup in auth when the key is used again; FailedAuthentications limits
   * these lookups per address.
   */
  readonly #invalid = new LRUCache<string, boolean>({ max: cacheSize, ttl: cacheTtlMs });
  /** Keys with a valid last verdict. Never grants access; auth still decides. */
  readonly #recentlyValid = new FairCache<true>({ max: recentSize, ttlMs: recentTtlMs });
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  readonly #verify: (question: Question) => Promise<VerifyKeyResult>;
  /**
   * The most recent running lookup of each key. Only its result is cached, unless `forget` invalidated it since then.
   */
  readonly #latest = new Map<string, symbol>();

  /**
   * @param parts.limits defaults for workspaces with a plan that sets none
   * @param parts.nowMs returns the time that all gateways share, in milliseconds since 1970; keys expire by it
   */
  constructor(
    auth: RpcClient<typeof KeysService>,
    environment: Environment,
    { limits, nowMs }: { readonly limits: Limits; readonly nowMs: () => number },
  ) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#environment = toEnvironmentMessage(environment);
    this.#verify = coalesce(async (questions: Question[]) => {
      const requests = questions.map(({ keyHash, requestId }) => ({
        keyHash,
        environment: this.#environment,
        context: { requestId },
      }));
      return (await auth.batchVerifyKeys({ requests })).results;
    }, gather);
  }

  /**
   * Returns the cached caller, or undefined if auth must be asked. Throws `invalid_api_key` for a known invalid key.
   */
  cached(keyHash: Buffer): Caller | undefined {
    const cacheKey = keyHash.toString('base64');
    const caller = this.#cache.get(cacheKey);
    if (caller) return caller;
    const exists = this.#invalid.get(cacheKey);
    if (exists !== undefined) throw new KeyRefusal('invalid_api_key', exists);
    return undefined;
  }

  /** Returns whether auth has found the key valid within the last day, and not invalid since. */
  wasValid(keyHash: Buffer): boolean {
    return this.#recentlyValid.peek(keyHash.toString('base64')) ?? false;
  }

  /** Asks auth, regardless of the cache. Throws `invalid_api_key` or `api_key_expired`. */
  async ask(keyHash: Buffer, requestId: string): Promise<Caller> {
    const cacheKey = keyHash.toString('base64');
    this.#cache.delete(cacheKey);
    const lookUp = Symbol();
    this.#latest.set(cacheKey, lookUp);
    try {
      const { verdict, principal, keyName, expireTime, allowedIps, version, limits, exists } = await this.#verify({
        keyHash,
        requestId,
      });
      if (verdict === KeyVerdict.VALID && principal) this.#recentlyValid.set(principal.workspaceId, cacheKey, true);
      else this.#recentlyValid.delete(cacheKey);
      if (verdict === KeyVerdict.INVALID) this.#invalid.set(cacheKey, exists);
      if (verdict === KeyVerdict.EXPIRED) throw new KeyRefusal('api_key_expired', true);
      if (verdict !== KeyVerdict.VALID || !principal) throw new KeyRefusal('invalid_api_key', exists);
      const caller: Caller = {
        principal,
        grant: fromKeyGrantMessage(principal),
        keyName,
        allowedIps: parseCidrs(allowedIps),
        version: Number(version),
        limits: toLimits(limits, this.#limits),
        maxWebhooks: limits?.maxWebhooks,
        fresh: true,
      };
      const ttl = expireTime ? Math.min(cacheTtlMs, timestampDate(expireTime).getTime() - this.#nowMs()) : cacheTtlMs;
      if (this.#latest.get(cacheKey) === lookUp && ttl > 0)
        this.#cache.set(principal.workspaceId, cacheKey, { ...caller, fresh: false }, ttl);
      return caller;
    } finally {
      if (this.#latest.get(cacheKey) === lookUp) this.#latest.delete(cacheKey);
    }
  }

  /** Discards the cached verdict and the running lookup of a key that has changed. */
  forget(keyHash: Buffer): void {
    const cacheKey = keyHash.toString('base64');
    this.#latest.delete(cacheKey);
    this.#cache.delete(cacheKey);
  }

  /** Discards all cached verdicts and running lookups, because revocation markers may have been lost. */
  forgetAll(): void {
    this.#latest.clear();
    this.#cache.clear();
    this.#invalid.clear();
  }
}

/**
 * Returns the workspace plan's limits. Where the plan sets none, the installation's limits apply. The key's
 * own rate limit can only lower the limit per key.
 */
function toLimits(own: LimitsMessage | undefined, all: Limits): Limits {
  const or = (value: bigint | undefined, otherwise: number) => (value === undefined ? otherwise : Number(value));
  return {
    rateLimitRequests: lower(or(own?.rateLimitRequests, all.rateLimitRequests), or(own?.keyRateLimitRequests, 0)),
    workspaceRateLimitRequests: or(own?.workspaceRateLimitRequests, all.workspaceRateLimitRequests),
    rateLimitWindowSeconds: or(own?.rateLimitWindowSeconds, all.rateLimitWindowSeconds),
    monthlyQuota: or(own?.monthlyQuota, all.monthlyQuota),
  };
}

/** Returns the lower of two limits; 0 means no limit. */
function lower(a: number, b: number): number {
  return a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);
}
