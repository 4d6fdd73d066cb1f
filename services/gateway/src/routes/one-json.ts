/** The envelope of a single object, around its JSON. */
export function oneJson(json: string): string {
  return `{"data":${json}}`;
}
