import { placeLabels } from '../web/src/features/webhooks/schedule-labels.ts';

/** Points of a schedule on a logarithmic axis, as the page shows it. */
const pointsOf = (width: number, ...seconds: number[]) => {
  const total = seconds.at(-1) ?? 0;
  return seconds.map((at) => ({
    x: width * (0.02 + 0.96 * (total > 0 ? Math.log1p(at) / Math.log1p(total) : 0)),
    text: at === 0 ? 'now' : `${at} seconds`,
  }));
};

/** Returns the labels that are shown, by side. */
const shown = (width: number, ...seconds: number[]) => {
  const points = pointsOf(width, ...seconds);
  const sides = placeLabels(points, width);
  const on = (side: 'above' | 'below') => points.filter((_, i) => sides[i] === side).map(({ text }) => text);
  return { above: on('above'), below: on('below') };
};

test('labels alternate between both sides, and the last one is below', () => {
  expect(shown(1_000, 0, 60, 360, 2_160, 9_360, 52_560)).toEqual({
    above: ['now', '360 seconds', '9360 seconds'],
    below: ['60 seconds', '2160 seconds', '52560 seconds'],
  });
});

test('on a phone, labels without space are left out; the first and the last are always shown', () => {
  for (const width of [200, 280, 330, 500]) {
    const seconds = [0, ...Array.from({ length: 50 }, (_, i) => (i + 1) * 60)];
    const points = pointsOf(width, ...seconds);
    const sides = placeLabels(points, width);
    expect([sides[0], sides.at(-1)]).toEqual(['above', 'below']);
    for (const side of ['above', 'below'] as const) {
      const xs = points.filter((_, i) => sides[i] === side).map(({ x }) => x);
      for (const [i, x] of xs.entries()) if (i > 1) expect(x - (xs[i - 1] ?? 0)).toBeGreaterThan(60);
    }
  }
  expect(shown(280, 0, 5, 305, 2_105, 9_305, 52_505).above[0]).toBe('now');
});

test('a schedule without retries has one label', () => {
  expect(shown(280, 0)).toEqual({ above: ['now'], below: [] });
});
