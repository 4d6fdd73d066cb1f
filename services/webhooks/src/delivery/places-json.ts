/**
 * A JSON object of the places of webhooks, as statements take it. Without an object of its own: for one with that many keys,
 * in an order that changes, V8 makes hidden classes that only a major collection frees.
 */
export function jsonOfPlaces(places: ReadonlyMap<string, number>): string {
  const members: string[] = [];
  for (const [webhookId, count] of places) members.push(`${JSON.stringify(webhookId)}:${count}`);
  return `{${members.join(',')}}`;
}
