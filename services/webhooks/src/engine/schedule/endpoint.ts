import type { Limits } from './limits.ts';

/** The outcome of an attempt. */
export interface Outcome {
  readonly durationMs: number;
  /** 'failing': no response, 429 or 5xx. 'rejected': another response that is not a success. */
  readonly health: 'arrived' | 'rejected' | 'failing' | 'not attempted';
}

/** The state of an endpoint that all instances share. */
export interface SharedState {
  /** Pause between the probes of an open circuit, without jitter; 0: the circuit is closed. */
  readonly pauseMs: number;
  /** Maximum number of concurrent attempts; undefined: only the webhook's limit applies. */
  readonly concurrency: number | undefined;
}

/** A shared state change. */
export interface Change extends SharedState {
  /** Whether the circuit pauses now: it has opened, or its probe has failed. */
  readonly pauses: boolean;
}

/**
 * An endpoint at this instance: its attempts in flight, its concurrency limit and its circuit.
 *
 *   closed ──10 consecutive failures──► open: one probe at a time, with a pause before each
 *      ▲                                  │  ▲
 *      │                                  │  └── the probe fails: pause × 2
 *      └─────── any other response ───────┘
 *
 * An endpoint that this instance does not know begins with the stored concurrency limit. The limit is 1 from its first
 * slow or failed attempt until it has recovered. Its circuit then opens with the first failure, because many such
 * endpoints may be due when an instance starts.
 *
 * A failure is an attempt without a response or with the status 429 or 5xx. A slow attempt or a failure halves the
 * concurrency limit, down to 1. Any other attempt raises it by 1, so that a recovering endpoint is not overloaded.
 *
 * The next probe's time is in the database (`not_before` in webhooks.endpoints), for all instances. A lease
 * returns a delivery of an open circuit only if its probe is due.
 */
export class Endpoint {
  readonly #limits: Limits;
  /** Maximum number of concurrent attempts for this instance. */
  #most: number;
  #limit: number;
  /** Attempts in flight, and deliveries that are being leased. */
  inFlight = 0;
  /** Whether the last attempt was slow or failed. */
  failing: boolean;
  #failures = 0;
  #pauseMs = 0;
  /** The delivery that probes an open circuit. */
  #probe: string | undefined;
  /** Whether the last attempt made the circuit pause. */
  #pauses = false;
  /** The state that the database contains, to this instance's knowledge; undefined until it reads or changes it. */
  #stored: SharedState | undefined;

  constructor(limits: Limits, most: number = limits.attemptsOfWebhook) {
    this.#limits = limits;
    this.#most = most;
    this.#limit = most;
    this.failing = false;
  }

  get most(): number {
    return this.#most;
  }

  /** Sets the maximum number of concurrent attempts for this instance. */
  set most(most: number) {
    this.#limit = this.#limit === this.#most ? most : Math.min(this.#limit, most);
    this.#most = most;
  }

  get isOpen(): boolean {
    return this.#pauseMs > 0;
  }

  /** Whether the endpoint differs from an endpoint that this instance does not know. */
  get isNotable(): boolean {
    return this.#limit < this.#most || this.failing || this.#failures > 0 || this.isOpen;
  }

  /** Whether no recent attempt was slow or failed. */
  get isFast(): boolean {
    return !this.isNotable;
  }

  /** Returns how many more attempts the endpoint allows. */
  get free(): number {
    return Math.max(0, (this.isOpen ? 1 : this.#limit) - this.inFlight);
  }

  /**
   * Applies the state that the database contains. Its concurrency limit applies only to a state that this instance
   * has neither read nor changed. Afterwards the attempts of this instance lower and raise the limit; the database does
   * not contain the steps in between.
   */
  refresh({ pauseMs, concurrency }: SharedState): void {
    const isFirst = this.#stored === undefined;
    this.#stored = { pauseMs, concurrency };
    this.#pauseMs = pauseMs;
    if (!isFirst || concurrency === undefined) return;
    if (!this.isNotable) this.#failures = this.#limits.failuresToOpen - 1;
    this.#limit = Math.min(this.#limit, concurrency);
    this.failing = true;
  }

  /** Notes the start of an attempt. */
  start(deliveryId: string): void {
    if (this.isOpen) this.#probe ??= deliveryId;
  }

  /** Notes the end of an attempt. Returns the shared state if it has changed. */
  finish(deliveryId: string, { durationMs, health }: Outcome): Change | undefined {
    const wasProbe = this.#probe === deliveryId;
    if (wasProbe) this.#probe = undefined;
    if (health === 'not attempted') return undefined;
    this.#pauses = false;
    if (health === 'failing') this.#fail(wasProbe);
    else this.#succeed();
    this.failing = health === 'failing' || durationMs > this.#limits.slowMs;
    this.#limit = this.failing ? Math.ceil(this.#limit / 2) : Math.min(this.#limit + 1, this.#most);
    return this.#change();
  }

  #fail(wasProbe: boolean): void {
    this.#failures += 1;
    const { failuresToOpen, firstPauseMs, maxPauseMs } = this.#limits;
    // The ends of attempts that were in flight when the circuit opened have no effect on it.
    this.#pauses = wasProbe || (!this.isOpen && this.#failures >= failuresToOpen);
    if (this.#pauses) this.#pauseMs = this.isOpen ? Math.min(this.#pauseMs * 2, maxPauseMs) : firstPauseMs;
  }

  #succeed(): void {
    this.#failures = 0;
    this.#pauseMs = 0;
    this.#probe = undefined;
  }

  /**
   * Returns the state to share: at every change of the circuit, at the first slow or failed attempt, and when the
   * endpoint has recovered. Changes in between are not shared, which saves writes.
   */
  #change(): Change | undefined {
    const stored = this.#stored ?? { pauseMs: 0, concurrency: undefined };
    const recovered = this.#limit >= this.#most;
    const concurrency = recovered ? undefined : this.failing ? 1 : stored.concurrency;
    if (!this.#pauses && stored.pauseMs === this.#pauseMs && concurrency === stored.concurrency) return undefined;
    this.#stored = { pauseMs: this.#pauseMs, concurrency };
    return { ...this.#stored, pauses: this.#pauses };
  }
}

/** Returns a pause with jitter. */
export function jittered(pauseMs: number, jitter: number, random = Math.random()): number {
  return pauseMs * (1 - jitter + 2 * jitter * random);
}
