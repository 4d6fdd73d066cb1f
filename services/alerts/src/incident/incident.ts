/** Current state of a subject according to a rule. */
export interface Observation {
  readonly bad: boolean;
  /** In the threshold's unit. */
  readonly value: number;
  readonly threshold: number;
  /** Text for emails and the dashboard. */
  readonly summary: string;
  /** If set, a bad observation keeps an open incident open but does not open one. */
  readonly keepsOnly?: boolean;
}

/** An incident: a period in which a subject violates a rule. */
export interface Incident {
  readonly state: 'open' | 'recovered' | 'ended';
  readonly openedAtMs: number;
  readonly lastNoticeAtMs: number;
  /** Number of "opened" and "repeated" notices. */
  readonly notices: number;
  /** When the subject became healthy; undefined while it is bad. */
  readonly calmSinceMs: number | undefined;
  readonly closedAtMs: number | undefined;
  readonly value: number;
  readonly worstValue: number;
  readonly threshold: number;
  readonly summary: string;
  /** Number of preceding incidents that each closed within a day before the next one opened. */
  readonly flaps: number;
  /** Set: no reminders are sent. */
  readonly acknowledgedAtMs: number | undefined;
  /** Until then, no messages are sent. */
  readonly mutedUntilMs: number | undefined;
}

/** Kind of a notice to recipients. */
export type Notice = 'opened' | 'repeated' | 'recovered';

/** The next state of a subject, and the email that it causes. */
export interface Step {
  /** undefined if no incident was open and none opened. */
  readonly incident: Incident | undefined;
  readonly notice: Notice | undefined;
}

export const dayMs = 24 * 3_600_000;
/** Base of the healthy time that recurrences require: 10 minutes after the first, doubled by each further one. */
const flappingCalmMs = 5 * 60_000;
const maxCalmMs = 6 * 3_600_000;

/**
 * Advances an incident by one evaluation of its subject.
 *
 *                bad                      good
 *   (none) ──────────────► open ───────────────────► open, healthy ──healthy long enough──► recovered
 *              "opened"    │  ▲                         │ │                                "recovered"
 *                          │  └──────────bad────────────┘ │
 *        still bad, one day after the last email: "repeated" (unless acknowledged or muted)
 *                          └───────────┬──────────────────┘
 *                    subject deleted or rule disabled
 *                                      ▼
 *                                ended (no notice)
 *
 * The required healthy time doubles with each incident of the subject that opens within a day after the previous one,
 * up to six hours. A subject that fluctuates all day therefore causes only a few emails.
 *
 * @param current the open incident of the subject, if any
 * @param previous the most recently closed incident of the subject, if known
 * @param observation the subject's state; undefined ends the incident
 * @param calmMs required healthy time of the first incident
 */
export function step(
  current: Incident | undefined,
  previous: Incident | undefined,
  observation: Observation | undefined,
  { nowMs, calmMs }: { nowMs: number; calmMs: number },
): Step {
  if (!current) return observation?.bad && !observation.keepsOnly ? open(previous, observation, nowMs) : nothing;
  if (!observation) return { incident: { ...current, state: 'ended', closedAtMs: nowMs }, notice: undefined };
  if (observation.bad) return stillBad(current, observation, nowMs);
  const calmSinceMs = Math.min(current.calmSinceMs ?? nowMs, nowMs);
  if (nowMs - calmSinceMs < calmNeededMs(current.flaps, calmMs)) {
    return { incident: { ...current, calmSinceMs }, notice: undefined };
  }
  return { incident: { ...current, calmSinceMs, state: 'recovered', closedAtMs: nowMs }, notice: 'recovered' };
}

/** Returns how long a subject must be healthy before its incident closes. */
export function calmNeededMs(flaps: number, calmMs: number): number {
  if (flaps === 0) return calmMs;
  return Math.max(calmMs, Math.min(maxCalmMs, flappingCalmMs * 2 ** Math.min(flaps, 20)));
}

const nothing: Step = { incident: undefined, notice: undefined };

function open(previous: Incident | undefined, observation: Observation, nowMs: number): Step {
  const { value, threshold, summary } = observation;
  const isFlapping = previous?.closedAtMs !== undefined && nowMs - previous.closedAtMs < dayMs;
  return {
    incident: {
      state: 'open',
      openedAtMs: nowMs,
      lastNoticeAtMs: nowMs,
      notices: 1,
      calmSinceMs: undefined,
      closedAtMs: undefined,
      value,
      worstValue: value,
      threshold,
      summary,
      flaps: isFlapping ? previous.flaps + 1 : 0,
      acknowledgedAtMs: undefined,
      mutedUntilMs: undefined,
    },
    notice: 'opened',
  };
}

function stillBad(current: Incident, { value, summary }: Observation, nowMs: number): Step {
  const worse = value > current.worstValue;
  const lastNoticeAtMs = Math.min(current.lastNoticeAtMs, nowMs);
  const incident = {
    ...current,
    calmSinceMs: undefined,
    lastNoticeAtMs,
    worstValue: worse ? value : current.worstValue,
  };
  const isQuiet = current.acknowledgedAtMs !== undefined || isMuted(current, nowMs);
  if (isQuiet || nowMs - lastNoticeAtMs < dayMs) return { incident, notice: undefined };
  return {
    incident: { ...incident, summary, lastNoticeAtMs: nowMs, notices: current.notices + 1 },
    notice: 'repeated',
  };
}

/** Returns whether messages about an incident are suppressed. */
export function isMuted({ mutedUntilMs }: Pick<Incident, 'mutedUntilMs'>, nowMs: number): boolean {
  return mutedUntilMs !== undefined && nowMs < mutedUntilMs;
}
