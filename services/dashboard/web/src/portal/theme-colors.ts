type Color = readonly [red: number, green: number, blue: number];

const black: Color = [0, 0, 0];
const white: Color = [255, 255, 255];
/** The `--ground` of styles/tokens.css. */
const grounds = { light: white, dark: [16, 19, 26] } as const satisfies Record<string, Color>;
/** Contrast of texts (WCAG 2.2 requires 4.5), with a margin for the other grounds; and of controls. */
const textContrast = 5;
const controlContrast = 3;

/** Returns the values of the accent colors of styles/tokens.css for a primary color ("#rrggbb"). */
export function themeColors(primary: string): Readonly<Record<string, string>> {
  const part = (start: number) => Number.parseInt(primary.slice(start, start + 2), 16);
  const color: Color = [part(1), part(3), part(5)];
  const [light, dark] = [colorsOn(grounds.light, color, black), colorsOn(grounds.dark, color, white)];
  const names = ['--accent', '--accent-hover', '--accent-text', '--on-accent', '--accent-ground'] as const;
  return Object.fromEntries(names.map((name) => [name, `light-dark(${hexOf(light[name])}, ${hexOf(dark[name])})`]));
}

function colorsOn(ground: Color, color: Color, opposite: Color) {
  const accent = readable(color, ground, opposite, controlContrast);
  const tinted = mixed(ground, color, 0.1);
  return {
    '--accent': accent,
    '--accent-hover': mixed(accent, opposite, 0.15),
    '--accent-text': readable(color, tinted, opposite, textContrast),
    '--on-accent': contrast(accent, white) >= contrast(accent, black) ? white : black,
    '--accent-ground': tinted,
  };
}

/** Mixes a color with the opposite of its ground until it has enough contrast. */
function readable(color: Color, ground: Color, opposite: Color, least: number): Color {
  let share = 0;
  while (share < 1 && contrast(mixed(color, opposite, share), ground) < least) share += 0.05;
  return mixed(color, opposite, Math.min(1, share));
}

function mixed(from: Color, to: Color, share: number): Color {
  const part = (index: 0 | 1 | 2) => Math.round(from[index] + (to[index] - from[index]) * share);
  return [part(0), part(1), part(2)];
}

/** Returns the contrast ratio of two colors, 1 to 21 (WCAG 2.2). */
function contrast(one: Color, other: Color): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function hexOf(color: Color): string {
  return `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}
