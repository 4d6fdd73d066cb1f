import { LRUCache } from 'lru-cache';

/** Pauses of tenants with events that cannot be stored, so that their retries do not delay the other tenants. */
export interface Cooldowns {
  /** Begins a pause, twice as long as the previous one. */
  begin(tenant: string, cause: unknown): void;
  /** Forgets the tenant's failures. */
  end(tenant: string): void;
  /** Returns how often the tenant has failed since its last success. */
  failuresOf(tenant: string): number;
  /** Returns the time since the first failure after the tenant's last success, in milliseconds; 0 without failures. */
  failingMs(tenant: string): number;
  /** Returns the current pause's cause; undefined if the tenant may be tried. */
  causeOf(tenant: string): unknown;
}

interface Cooldown {
  readonly failures: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly cause: unknown;
}

const firstPauseMs = 500;
const maxPauseMs = 30_000;

/** @param now clock in milliseconds */
export function createCooldowns(now: () => number = () => performance.now()): Cooldowns {
  const cooldowns = new LRUCache<string, Cooldown>({ max: 10_000 });
  const failuresOf = (tenant: string) => cooldowns.get(tenant)?.failures ?? 0;
  return {
    begin(tenant, cause) {
      const failures = failuresOf(tenant) + 1;
      const pauseMs = Math.min(firstPauseMs * 2 ** (failures - 1), maxPauseMs);
      const nowMs = now();
      const sinceMs = cooldowns.get(tenant)?.sinceMs ?? nowMs;
      cooldowns.set(tenant, {
        failures,
        sinceMs,
        untilMs: nowMs + pauseMs,
        cause: cause ?? new Error('unknown cause'),
      });
    },
    end: (tenant) => void cooldowns.delete(tenant),
    failuresOf,
    failingMs(tenant) {
      const cooldown = cooldowns.get(tenant);
      return cooldown ? now() - cooldown.sinceMs : 0;
    },
    causeOf(tenant) {
      const rest = cooldowns.get(tenant);
      return rest && now() < rest.untilMs ? rest.cause : undefined;
    },
  };
}
