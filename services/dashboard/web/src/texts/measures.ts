import { numberText } from './numbers.ts';
import { uiTexts } from './ui.ts';

/** Formats a duration: "850 ms", "1 min 30 s", "12 h". */
export function durationText(seconds: number): string {
  const { units } = uiTexts();
  if (seconds < 1) return units.ms(numberText(Math.round(seconds * 1000)));
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(units[unit](numberText(count)));
  }
  return parts.slice(0, 2).join(' ');
}

/** Formats a share, rounded down, so that 100 % means all. Returns "–" if `all` is 0. */
export function shareText(part: number, all: number): string {
  return all > 0 ? percentText(Math.floor((part * 1000) / all) / 10) : '–';
}

/** Formats a percentage: "99.9 %". */
export function percentText(percent: number): string {
  return uiTexts().percent(numberText(percent, { minimumFractionDigits: 1, maximumFractionDigits: 1 }));
}
