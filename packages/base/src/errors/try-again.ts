/** Returns "Try again in 20 s.", for error messages. From two minutes, the delay is in minutes; from two hours, in hours. */
export function tryAgainIn(seconds: number): string {
  const rounded = Math.max(1, Math.ceil(seconds));
  const [count, unit] =
    rounded < 120
      ? [rounded, 's']
      : rounded < 7_200
        ? [Math.ceil(rounded / 60), 'minutes']
        : [Math.ceil(rounded / 3_600), 'hours'];
  return `Try again in ${count} ${unit}.`;
}
