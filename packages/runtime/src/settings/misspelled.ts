import { type Setting, settingsTable } from './settings-table.ts';

/** Variable that is not a setting, and the setting with a name one typing error away. */
export interface Misspelled {
  readonly given: string;
  readonly meant: string;
}

/** Returns the non-empty variables with names one typing error from a setting's name. */
export function misspelledSettings(env: NodeJS.ProcessEnv): Misspelled[] {
  const table: Readonly<Record<string, Setting>> = settingsTable;
  const settings = Object.entries(table);
  const names = settings.flatMap(([name, { secret }]) => (secret ? [name, `${name}_FILE`] : [name]));
  // Standard variables that some settings read, such as https_proxy, and HTTP_PROXY, which none reads.
  const known = new Set([...names, 'HTTP_PROXY', ...settings.flatMap(([, { fallbacks = [] }]) => fallbacks)]);
  return Object.keys(env)
    .filter((given) => env[given] !== '' && !known.has(given))
    .flatMap((given) => {
      const meant = names.find((name) => isOneErrorAway(given, name));
      return meant === undefined ? [] : [{ given, meant }];
    });
}

/** Returns whether one character was added, left out, replaced or exchanged with its neighbor. */
function isOneErrorAway(given: string, name: string): boolean {
  const difference = given.length - name.length;
  if (Math.abs(difference) > 1) return false;
  let start = 0;
  while (start < given.length && given[start] === name[start]) start += 1;
  const rest = (text: string, from: number) => text.slice(start + from);
  if (difference === 1) return rest(given, 1) === rest(name, 0);
  if (difference === -1) return rest(given, 0) === rest(name, 1);
  if (rest(given, 1) === rest(name, 1)) return true;
  return given[start] === name[start + 1] && given[start + 1] === name[start] && rest(given, 2) === rest(name, 2);
}
