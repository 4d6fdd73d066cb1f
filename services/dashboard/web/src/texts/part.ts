/** Texts of some pages. Call it to get them in the page's language, whenever a text is shown. */
export interface Part<Texts> {
  (): Texts;
  /** Replaces the texts with those of another language. */
  translate(texts: Texts): void;
}

/** Creates a part of the catalog from its English texts. */
export function part<Texts extends object>(english: Texts): Part<Texts> {
  let shown = english;
  return Object.assign(() => shown, {
    translate(texts: Texts) {
      shown = texts;
    },
  });
}
