// Preloaded into an instance (node --import). Shifts its clock from the real time by the number of milliseconds in the
// file CLOCK_FILE.
import { readFileSync } from 'node:fs';
import { shiftClock } from '../../../packages/testkit/src/shifted-clock.ts';

const file = process.env.CLOCK_FILE ?? '';
let restore = () => {};
let shownMs = 0;
setInterval(() => {
  const byMs = Number(readFileSync(file, 'utf8'));
  if (byMs === shownMs) return;
  restore();
  restore = shiftClock(byMs);
  shownMs = byMs;
}, 100).unref();
