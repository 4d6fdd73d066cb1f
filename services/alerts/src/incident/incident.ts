/** What a rule finds about one subject now. */
export interface Observation {
  readonly bad: boolean;
  /** In the unit of the threshold. */
  readonly value: number;
  readonly threshold: number;
  /** For a person. */
  readonly summary: string;
  /** It is not to open an incident, though it keeps an open one open. */
  readonly keepsOnly?: boolean;
}

/** One time that something is wrong with a subject. */
export interface Incident {
  readonly state: 'open' | 'recovered' | 'ended';
  readonly openedAtMs: number;
  readonly lastNoticeAtMs: number;
  /** How often recipients were told that it is open. */
  readonly notices: number;
  /** Since when all has been well; undefined: it is not. */
  readonly calmSinceMs: number | undefined;
  readonly closedAtMs: number | undefined;
  readonly value: number;
  readonly worstValue: number;
  readonly threshold: number;
  readonly summary: string;
  /** How many closed before it, each within a day of the next. */
  readonly flaps: number;
}

/** What recipients are told. */
export type Notice = 'opened' | 'repeated' | 'recovered';

export interface Step {
  /** Undefined: there is none, and none opens. */
  readonly incident: Incident | undefined;
  readonly notice: Notice | undefined;
}

const dayMs = 24 * 3_600_000;
/** What keeps coming back has to be well for so long at first, twice as long the next time, and so on. */
const flappingCalmMs = 5 * 60_000;
const longestCalmMs = 6 * 3_600_000;

/**
 * One step of an incident, at each look at its subject.
 *
 *                bad                      good
 *   (none) ──────────────► open ───────────────────► open, calm ──calm for long enough──► recovered
 *              "opened"    │  ▲                         │ │                                "recovered"
 *                          │  └──────────bad────────────┘ │
 *         a day since the last mail, and bad: "repeated"  │
 *                          └───────────┬──────────────────┘
 *                        subject is gone, rule is off
 *                                      ▼
 *                                    ended (nobody is told)
 *
 * How long is long enough doubles with each incident of the subject that opens within a day of the one before, up to six
 * hours: what goes up and down all day makes a handful of mails.
 *
 * @param current that of the subject that is open; undefined: none
 * @param previous the last one that has closed; undefined: none is known
 * @param observation undefined: the subject does not matter any more
 * @param calmMs how long all has to be well the first time
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
  const calmSinceMs = current.calmSinceMs ?? nowMs;
  if (nowMs - calmSinceMs < calmNeededMs(current.flaps, calmMs)) {
    return { incident: { ...current, calmSinceMs }, notice: undefined };
  }
  return { incident: { ...current, calmSinceMs, state: 'recovered', closedAtMs: nowMs }, notice: 'recovered' };
}

/** How long all has to be well until an incident counts as over. */
export function calmNeededMs(flaps: number, calmMs: number): number {
  if (flaps === 0) return calmMs;
  return Math.max(calmMs, Math.min(longestCalmMs, flappingCalmMs * 2 ** Math.min(flaps, 20)));
}

const nothing: Step = { incident: undefined, notice: undefined };

function open(previous: Incident | undefined, observation: Observation, nowMs: number): Step {
  const { value, threshold, summary } = observation;
  const cameBack = previous?.closedAtMs !== undefined && nowMs - previous.closedAtMs < dayMs;
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
      flaps: cameBack ? previous.flaps + 1 : 0,
    },
    notice: 'opened',
  };
}

function stillBad(current: Incident, { value, summary }: Observation, nowMs: number): Step {
  const worse = value > current.worstValue;
  const incident = { ...current, calmSinceMs: undefined, worstValue: worse ? value : current.worstValue };
  if (nowMs - current.lastNoticeAtMs < dayMs) return { incident, notice: undefined };
  return {
    incident: { ...incident, summary, lastNoticeAtMs: nowMs, notices: current.notices + 1 },
    notice: 'repeated',
  };
}
