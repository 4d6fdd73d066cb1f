/** Returns the user's languages, the preferred one first: "de-AT", "en". */
export function preferredLanguages(): readonly string[] {
  return navigator.languages;
}
