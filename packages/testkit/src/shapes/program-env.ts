import { fileURLToPath } from 'node:url';

/** The root of the checkout. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url));

const inherited = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'SystemRoot'];

/** What our programs see of the environment of the tests: none of a developer's settings, only `settings`. */
export function programEnv(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const name of inherited) if (process.env[name] !== undefined) env[name] = process.env[name];
  return { ...env, ...settings };
}
