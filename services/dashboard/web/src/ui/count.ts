/** Formats a number of objects, rounded: "1 delivery", "1,900 deliveries". */
export function countText(count: number, one: string, many: string): string {
  const rounded = Math.round(count);
  return `${rounded.toLocaleString()} ${rounded === 1 ? one : many}`;
}
