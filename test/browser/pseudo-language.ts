// A language for tests: English in fullwidth letters. It replaces web/src/texts/catalogs.ts of the dashboard.
import { type Catalog, parts } from '../../services/dashboard/web/src/texts/catalog.ts';

/** Returns a text in the pseudo-language. */
export function wide(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0));
}

/** Returns a private character that stands for a value in a text, so that only the text around it is translated. */
const mark = (index: number) => String.fromCharCode(0xe000 + index);

/** Translates texts, sentences with elements, functions that return them, and objects of them. */
function translated(text: unknown, values: readonly unknown[] = []): unknown {
  if (typeof text === 'string')
    return values.reduce<string>((shown, value, index) => shown.replaceAll(mark(index), String(value)), wide(text));
  if (typeof text === 'function')
    return (...given: unknown[]) =>
      translated(text(...given.map((value, index) => (typeof value === 'string' ? mark(index) : value))), given);
  if (Array.isArray(text)) return text.map((part) => translated(part, values));
  // Elements of components are values, such as times.
  if (typeof text !== 'object' || text === null || ('type' in text && typeof text.type === 'function')) return text;
  const names = 'props' in text ? ['props', 'children'] : Object.keys(text);
  return Object.fromEntries(
    Object.entries(text).map(([name, value]) => [name, names.includes(name) ? translated(value, values) : value]),
  );
}

export const catalogs = {
  fr: async () =>
    translated(Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part()]))) as Catalog,
};
