import fc from 'fast-check';
import { calmNeededMs, type Incident, type Notice, type Observation, step } from '../src/incident/incident.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const bad: Observation = { bad: true, value: 0.5, threshold: 0.1, summary: 'half of all' };
const good: Observation = { ...bad, bad: false, value: 0 };

/** Evaluates a subject repeatedly, as the evaluator does, and records the notices. */
function watch(calmMs = 5 * minuteMs) {
  let current: Incident | undefined;
  let previous: Incident | undefined;
  const notified: { atMs: number; notice: Notice }[] = [];
  const opened: Incident[] = [];
  return {
    notified,
    opened,
    current: () => current,
    previous: () => previous,
    observe(nowMs: number, observation: Observation | undefined) {
      const before = current;
      const { incident, notice } = step(current, previous, observation, { nowMs, calmMs });
      if (!before && incident) opened.push(incident);
      current = incident?.state === 'open' ? incident : undefined;
      if (incident && incident.state !== 'open') previous = incident;
      if (notice) notified.push({ atMs: nowMs, notice });
    },
  };
}

describe('An incident', () => {
  test('opens once, sends one notice, and recovers when the subject has been healthy for long enough', () => {
    const subject = watch();
    subject.observe(0, good);
    for (let minute = 1; minute <= 60; minute += 1) subject.observe(minute * minuteMs, bad);
    for (let minute = 61; minute <= 66; minute += 1) subject.observe(minute * minuteMs, good);
    expect(subject.notified).toEqual([
      { atMs: minuteMs, notice: 'opened' },
      { atMs: 66 * minuteMs, notice: 'recovered' },
    ]);
    expect(subject.previous()).toMatchObject({ state: 'recovered', closedAtMs: 66 * minuteMs, notices: 1, flaps: 0 });
  });

  test('a short healthy period does not close it', () => {
    const subject = watch();
    subject.observe(0, bad);
    for (const minute of [1, 3, 5, 7]) {
      subject.observe(minute * minuteMs, good);
      subject.observe((minute + 1) * minuteMs, bad);
    }
    expect(subject.notified).toHaveLength(1);
    expect(subject.current()).toMatchObject({ state: 'open', calmSinceMs: undefined });
  });

  test('sends another notice after a day with the current summary, and keeps the worst value', () => {
    const subject = watch();
    subject.observe(0, bad);
    subject.observe(10 * minuteMs, { ...bad, value: 0.9 });
    subject.observe(dayMs - 1, bad);
    subject.observe(dayMs, { ...bad, summary: 'still half' });
    expect(subject.notified.map(({ notice }) => notice)).toEqual(['opened', 'repeated']);
    expect(subject.current()).toMatchObject({ notices: 2, summary: 'still half', value: 0.5, worstValue: 0.9 });
  });

  test('ends silently when its subject no longer exists', () => {
    const subject = watch();
    subject.observe(0, bad);
    subject.observe(minuteMs, undefined);
    expect(subject.notified.map(({ notice }) => notice)).toEqual(['opened']);
    expect(subject.previous()).toMatchObject({ state: 'ended', closedAtMs: minuteMs });
  });

  test('an observation with keepsOnly keeps an incident open but does not open one', () => {
    const subject = watch();
    subject.observe(0, { ...bad, keepsOnly: true });
    expect(subject.current()).toBe(undefined);
    subject.observe(1, bad);
    subject.observe(2, { ...bad, keepsOnly: true });
    expect(subject.current()).toMatchObject({ state: 'open', calmSinceMs: undefined });
  });

  test('each recurrence within a day requires a longer healthy time', () => {
    expect([0, 1, 2, 3].map((flaps) => calmNeededMs(flaps, 0) / minuteMs)).toEqual([0, 10, 20, 40]);
    expect(calmNeededMs(50, 0)).toBe(6 * 60 * minuteMs);
    expect(calmNeededMs(1, 60 * minuteMs)).toBe(60 * minuteMs);
    const subject = watch(0);
    subject.observe(0, bad);
    subject.observe(minuteMs, good);
    subject.observe(2 * minuteMs, bad);
    expect(subject.current()?.flaps).toBe(1);
    subject.observe(3 * minuteMs, good);
    expect(subject.current()).toMatchObject({ state: 'open' });
    subject.observe(13 * minuteMs, good);
    subject.observe(13 * minuteMs + dayMs, bad);
    expect(subject.current()?.flaps).toBe(0);
  });
});

const observations = fc.array(fc.record({ afterMs: fc.integer({ min: 1, max: 90 * minuteMs }), bad: fc.boolean() }), {
  minLength: 1,
  maxLength: 400,
});

describe('Arbitrary sequences of observations', () => {
  test('notices come in the order opened, repeated (at most daily), recovered', () => {
    fc.assert(
      fc.property(observations, fc.integer({ min: 0, max: 30 * minuteMs }), (all, calmMs) => {
        const subject = watch(calmMs);
        let nowMs = 0;
        for (const { afterMs, bad: isBad } of all) {
          nowMs += afterMs;
          subject.observe(nowMs, isBad ? bad : good);
        }
        let lastReportedMs = 0;
        let isOpen = false;
        for (const { atMs, notice } of subject.notified) {
          expect(notice === 'opened').toBe(!isOpen);
          if (notice === 'repeated') expect(atMs - lastReportedMs).toBeGreaterThanOrEqual(dayMs);
          isOpen = notice !== 'recovered';
          if (isOpen) lastReportedMs = atMs;
        }
        expect(subject.current() !== undefined).toBe(isOpen);
      }),
    );
  });

  test('any 24 hours have at most 26 notices', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.boolean()), fc.integer({ min: 5_000, max: 5 * minuteMs }), (states, everyMs) => {
        const subject = watch(0);
        for (let nowMs = 0; nowMs < 2 * dayMs; nowMs += everyMs) {
          subject.observe(nowMs, states.next().value ? bad : good);
        }
        for (const { atMs } of subject.notified) {
          const sameDay = subject.notified.filter((one) => one.atMs >= atMs && one.atMs < atMs + dayMs);
          expect(sameDay.length).toBeLessThanOrEqual(26);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('a lasting healthy period closes every incident, and a later problem opens a new one', () => {
    fc.assert(
      fc.property(observations, (all) => {
        const subject = watch();
        let nowMs = 0;
        for (const { afterMs, bad: isBad } of all) {
          nowMs += afterMs;
          subject.observe(nowMs, isBad ? bad : good);
        }
        subject.observe(nowMs + 1, good);
        subject.observe(nowMs + 1 + 6 * 60 * minuteMs, good);
        expect(subject.current()).toBe(undefined);
        subject.observe(nowMs + 7 * 60 * minuteMs, bad);
        expect(subject.notified.at(-1)?.notice).toBe('opened');
      }),
    );
  });
});

test('an incident of a clock that was a day ahead is reported again a day after the correction, and recovers', () => {
  const webhook = watch();
  webhook.observe(dayMs, bad);
  webhook.observe(0, bad);
  webhook.observe(dayMs - 1, bad);
  webhook.observe(dayMs, bad);
  expect(webhook.notified.map(({ atMs, notice }) => [atMs, notice])).toEqual([
    [dayMs, 'opened'],
    [dayMs, 'repeated'],
  ]);
  webhook.observe(3 * dayMs, good);
  webhook.observe(dayMs + minuteMs, good);
  webhook.observe(dayMs + 6 * minuteMs, good);
  expect(webhook.current()).toBeUndefined();
});
