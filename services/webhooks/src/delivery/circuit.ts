/** Failures in a row after which an endpoint is left alone for a while. */
const failuresToOpen = 10;
const firstPauseMs = 500;
/** Of an endpoint that had failed before it was first seen here: there may be many of them. */
const firstPauseOfSuspectedMs = 5_000;
const longestPauseMs = 10_000;
/** So that endpoints that fail together are not probed together. */
const jitter = 0.5;

/**
 * Whether an endpoint is worth an attempt.
 *
 *   closed ──10 failures in a row──► open ──its pause is over──► half open: one attempt
 *      ▲                              ▲                              │
 *      │                              └──── it fails: twice the pause┤
 *      └──────────────────── it succeeds ────────────────────────────┘
 *
 * Deliveries of an open circuit wait in the table; they lose none of their retries.
 */
export class Circuit {
  #failures: number;
  #pauseMs: number;
  #openUntilMs: number | undefined;

  /** @param suspected the endpoint has failed before: one more failure opens it */
  constructor(suspected = false) {
    this.#failures = suspected ? failuresToOpen - 1 : 0;
    this.#pauseMs = suspected ? firstPauseOfSuspectedMs : firstPauseMs;
  }

  /** 'open': no attempt now. 'half-open': one at a time. */
  state(nowMs: number): 'closed' | 'half-open' | 'open' {
    if (this.#openUntilMs === undefined) return 'closed';
    return nowMs < this.#openUntilMs ? 'open' : 'half-open';
  }

  /** Attempts at once that it lets through, of so many that there may be. */
  most(limit: number, nowMs: number): number {
    const state = this.state(nowMs);
    return state === 'closed' ? limit : state === 'half-open' ? 1 : 0;
  }

  /** When an open circuit lets an attempt through, in the time that the calls name. */
  get opensAtMs(): number | undefined {
    return this.#openUntilMs;
  }

  /** Whether one more failure opens it: what waited for that attempt would have waited in vain. */
  get opensNext(): boolean {
    return this.#failures === failuresToOpen - 1;
  }

  get pristine(): boolean {
    return this.#failures === 0 && this.#openUntilMs === undefined;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pauseMs = firstPauseMs;
    this.#openUntilMs = undefined;
  }

  /** Answers whether the circuit has just opened. */
  failed(nowMs: number, random = Math.random()): boolean {
    this.#failures += 1;
    const state = this.state(nowMs);
    if (state === 'open' || (state === 'closed' && this.#failures < failuresToOpen)) return false;
    this.#openUntilMs = nowMs + this.#pauseMs * (1 - jitter + 2 * jitter * random);
    this.#pauseMs = pauseAfter(this.#pauseMs);
    return true;
  }
}

/** How long the pause lasts, on the average, in which a circuit is that has been open for so long and is probed at once. */
export function pauseAfterMs(openForMs: number): number {
  let pauseMs = firstPauseMs;
  for (let endMs = pauseMs; endMs < openForMs && pauseMs < longestPauseMs; endMs += pauseMs) {
    pauseMs = pauseAfter(pauseMs);
  }
  return pauseMs;
}

/** The pause that follows one whose probe has failed. */
function pauseAfter(pauseMs: number): number {
  return Math.min(pauseMs * 2, longestPauseMs);
}
