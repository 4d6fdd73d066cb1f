/** Characters that draw nothing, and spaces, line breaks and control characters. */
const undrawn = /[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Returns the name, or the object's ID if the name draws nothing. */
export function visibleName({ name, id }: { readonly name: string; readonly id: string }): string {
  return name.replace(undrawn, '') === '' ? id : name;
}

/** Returns the text as pages show it: in composed form (NFC), with one space per sequence of spaces and line breaks. */
export function shownText(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** Whether a user who types the first text as it is shown has typed the second one. */
export function isSameShown(typed: string, text: string): boolean {
  const compared = (given: string) => shownText(given.replace(/[\p{Default_Ignorable_Code_Point}\u2800]/gu, ''));
  return compared(typed) === compared(text);
}
