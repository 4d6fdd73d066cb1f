import fc from 'fast-check';
import { calmNeededMs, type Incident, type Notice, type Observation, step } from '../src/incident/incident.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const bad: Observation = { bad: true, value: 0.5, threshold: 0.1, summary: 'half of all' };
const good: Observation = { ...bad, bad: false, value: 0 };

/** Looks at a subject again and again, as the evaluator does, and keeps what was told. */
function watch(calmMs = 5 * minuteMs) {
  let current: Incident | undefined;
  let previous: Incident | undefined;
  const told: { atMs: number; notice: Notice }[] = [];
  const opened: Incident[] = [];
  return {
    told,
    opened,
    current: () => current,
    previous: () => previous,
    look(nowMs: number, observation: Observation | undefined) {
      const before = current;
      const { incident, notice } = step(current, previous, observation, { nowMs, calmMs });
      if (!before && incident) opened.push(incident);
      current = incident?.state === 'open' ? incident : undefined;
      if (incident && incident.state !== 'open') previous = incident;
      if (notice) told.push({ atMs: nowMs, notice });
    },
  };
}

describe('An incident', () => {
  test('opens once, is told of once, and recovers when all was well for long enough', () => {
    const subject = watch();
    subject.look(0, good);
    for (let minute = 1; minute <= 60; minute += 1) subject.look(minute * minuteMs, bad);
    for (let minute = 61; minute <= 66; minute += 1) subject.look(minute * minuteMs, good);
    expect(subject.told).toEqual([
      { atMs: minuteMs, notice: 'opened' },
      { atMs: 66 * minuteMs, notice: 'recovered' },
    ]);
    expect(subject.previous()).toMatchObject({ state: 'recovered', closedAtMs: 66 * minuteMs, notices: 1, flaps: 0 });
  });

  test('a moment of calm is not the end of it', () => {
    const subject = watch();
    subject.look(0, bad);
    for (const minute of [1, 3, 5, 7]) {
      subject.look(minute * minuteMs, good);
      subject.look((minute + 1) * minuteMs, bad);
    }
    expect(subject.told).toHaveLength(1);
    expect(subject.current()).toMatchObject({ state: 'open', calmSinceMs: undefined });
  });

  test('is told of again after a day, with what is true then, and keeps the worst', () => {
    const subject = watch();
    subject.look(0, bad);
    subject.look(10 * minuteMs, { ...bad, value: 0.9 });
    subject.look(dayMs - 1, bad);
    subject.look(dayMs, { ...bad, summary: 'still half' });
    expect(subject.told.map(({ notice }) => notice)).toEqual(['opened', 'repeated']);
    expect(subject.current()).toMatchObject({ notices: 2, summary: 'still half', value: 0.5, worstValue: 0.9 });
  });

  test('ends without a word when its subject is gone', () => {
    const subject = watch();
    subject.look(0, bad);
    subject.look(minuteMs, undefined);
    expect(subject.told.map(({ notice }) => notice)).toEqual(['opened']);
    expect(subject.previous()).toMatchObject({ state: 'ended', closedAtMs: minuteMs });
  });

  test('what only keeps an incident open does not open one', () => {
    const subject = watch();
    subject.look(0, { ...bad, keepsOnly: true });
    expect(subject.current()).toBe(undefined);
    subject.look(1, bad);
    subject.look(2, { ...bad, keepsOnly: true });
    expect(subject.current()).toMatchObject({ state: 'open', calmSinceMs: undefined });
  });

  test('what comes back within a day has to be well for longer and longer', () => {
    expect([0, 1, 2, 3].map((flaps) => calmNeededMs(flaps, 0) / minuteMs)).toEqual([0, 10, 20, 40]);
    expect(calmNeededMs(50, 0)).toBe(6 * 60 * minuteMs);
    expect(calmNeededMs(1, 60 * minuteMs)).toBe(60 * minuteMs);
    const subject = watch(0);
    subject.look(0, bad);
    subject.look(minuteMs, good);
    subject.look(2 * minuteMs, bad);
    expect(subject.current()?.flaps).toBe(1);
    subject.look(3 * minuteMs, good);
    expect(subject.current()).toMatchObject({ state: 'open' });
    subject.look(13 * minuteMs, good);
    subject.look(13 * minuteMs + dayMs, bad);
    expect(subject.current()?.flaps).toBe(0);
  });
});

const looks = fc.array(fc.record({ afterMs: fc.integer({ min: 1, max: 90 * minuteMs }), bad: fc.boolean() }), {
  minLength: 1,
  maxLength: 400,
});

describe('However a subject goes up and down', () => {
  test('an incident is opened, told of daily at most, and recovered or open: in this order', () => {
    fc.assert(
      fc.property(looks, fc.integer({ min: 0, max: 30 * minuteMs }), (all, calmMs) => {
        const subject = watch(calmMs);
        let nowMs = 0;
        for (const { afterMs, bad: isBad } of all) {
          nowMs += afterMs;
          subject.look(nowMs, isBad ? bad : good);
        }
        let lastToldMs = 0;
        let isOpen = false;
        for (const { atMs, notice } of subject.told) {
          expect(notice === 'opened').toBe(!isOpen);
          if (notice === 'repeated') expect(atMs - lastToldMs).toBeGreaterThanOrEqual(dayMs);
          isOpen = notice !== 'recovered';
          if (isOpen) lastToldMs = atMs;
        }
        expect(subject.current() !== undefined).toBe(isOpen);
      }),
    );
  });

  test('no day has more than 26 mails', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.boolean()), fc.integer({ min: 5_000, max: 5 * minuteMs }), (states, everyMs) => {
        const subject = watch(0);
        for (let nowMs = 0; nowMs < 2 * dayMs; nowMs += everyMs) {
          subject.look(nowMs, states.next().value ? bad : good);
        }
        for (const { atMs } of subject.told) {
          const sameDay = subject.told.filter((one) => one.atMs >= atMs && one.atMs < atMs + dayMs);
          expect(sameDay.length).toBeLessThanOrEqual(26);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('calm that lasts ends every incident, and trouble that lasts is always told of', () => {
    fc.assert(
      fc.property(looks, (all) => {
        const subject = watch();
        let nowMs = 0;
        for (const { afterMs, bad: isBad } of all) {
          nowMs += afterMs;
          subject.look(nowMs, isBad ? bad : good);
        }
        subject.look(nowMs + 1, good);
        subject.look(nowMs + 1 + 6 * 60 * minuteMs, good);
        expect(subject.current()).toBe(undefined);
        subject.look(nowMs + 7 * 60 * minuteMs, bad);
        expect(subject.told.at(-1)?.notice).toBe('opened');
      }),
    );
  });
});
