import { fileURLToPath } from 'node:url';

/** Root folder of the checkout. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url));

const inherited = ['PATH', 'NODE_COMPILE_CACHE', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'SystemRoot'];

/**
 * Builds the environment for the programs under test: `settings` and a few system variables, but none of the
 * developer's settings.
 */
export function programEnv(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const name of inherited) if (process.env[name] !== undefined) env[name] = process.env[name];
  return { ...env, ...settings };
}
