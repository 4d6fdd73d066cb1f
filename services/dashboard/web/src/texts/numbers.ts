import { preferredLanguages } from '../browser/languages.ts';

let language = 'en';

export function setLanguage(chosen: string): void {
  language = chosen;
}

/** Returns the language of the page's texts. */
export function pageLanguage(): string {
  return language;
}

/** Returns the locale of numbers and times: the page's language, in the region that the browser prefers. */
export function pageLocale(): string {
  return preferredLanguages().find((tag) => tag.split('-', 1)[0] === language) ?? language;
}

export function numberText(value: number, options?: Intl.NumberFormatOptions): string {
  return value.toLocaleString(pageLocale(), options);
}

const medium = { dateStyle: 'medium', timeStyle: 'medium' } as const;

export function timeText(at: Date, options: Intl.DateTimeFormatOptions = medium): string {
  return new Intl.DateTimeFormat(pageLocale(), options).format(at);
}

type PluralForms = { readonly other: string } & { readonly [Form in Intl.LDMLPluralRule]?: string };

/** Returns the plural form of a rounded number, with the number at "#": `plural(2, { one: '# day', other: '# days' })`. */
export function plural(count: number, forms: PluralForms): string {
  const rounded = Math.round(count);
  const form = forms[new Intl.PluralRules(pageLocale()).select(rounded)] ?? forms.other;
  return form.replace('#', numberText(rounded));
}
