import type { Environment } from '@rms/base/tenant';
import { Option } from 'commander';
import { defaultProfile, type Profile, readProfiles } from './profiles.ts';

/** The options that select an installation and a key, of every command that works with a key. */
export interface TargetOptions {
  readonly url?: string | undefined;
  readonly apiKey?: string;
  readonly profile?: string;
}

/** Creates the options. */
export function targetOptions(): Option[] {
  return [
    new Option('--url <url>', 'address of the API (default: RMS_URL, or the profile)'),
    new Option('--api-key <key>', 'API key; safer in the environment variable RMS_API_KEY or in a profile (rms login)'),
    new Option('--profile <name>', 'profile of rms login (default: RMS_PROFILE, or "default")'),
  ];
}

/**
 * Returns the installation and the API key of a command. A key is only sent to the address that belongs to it: both are
 * of the profile that --profile names; otherwise RMS_API_KEY and RMS_URL; otherwise of the profile that RMS_PROFILE
 * names, or of the default profile. --api-key and --url replace either. Undefined if there is no key. Throws if the
 * address is missing or invalid, or if the profile does not exist.
 */
export function targetOf(options: TargetOptions, env: NodeJS.ProcessEnv = process.env): Profile | undefined {
  const isGiven = options.profile === undefined && (options.apiKey || env.RMS_API_KEY);
  const stored = isGiven ? { url: env.RMS_URL, api_key: env.RMS_API_KEY } : profileOf(options, env);
  const apiKey = options.apiKey || stored?.api_key;
  if (!apiKey) return undefined;
  const url = options.url || stored?.url;
  if (!url) throw new Error('The address of the API is missing: set RMS_URL or --url.');
  return { url: baseUrl(url), api_key: apiKey };
}

/** Returns the environment of a target's key. */
export function environmentOf({ api_key: key }: Profile): Environment {
  return key.startsWith('sk_live_') ? 'live' : 'sandbox';
}

function profileOf(options: TargetOptions, env: NodeJS.ProcessEnv): Profile | undefined {
  const name = options.profile ?? (env.RMS_PROFILE || undefined);
  const profile = readProfiles(env)[name ?? defaultProfile];
  if (name === undefined || profile) return profile;
  throw new Error(`There is no profile "${name}"; rms login --profile ${name} creates it.`);
}

/** Returns an address without "/v1" and slashes at its end. Throws if it is not an API URL. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new Error(`"${text}" is not an address of the API; expected https://host, with a path if it has a prefix.`);
  }
  let path = url.pathname;
  while (path.endsWith('/')) path = path.slice(0, -1);
  return url.origin + (path.endsWith('/v1') ? path.slice(0, -'/v1'.length) : path);
}

/** Returns whether a command has an API key, or selects a profile. */
export function hasKey(words: readonly string[]): boolean {
  try {
    return targetOf(targetOptionsIn(words)) !== undefined;
  } catch {
    // The command reports the error.
    return true;
  }
}

/** Returns the options in a command line that is not parsed yet. */
function targetOptionsIn(words: readonly string[]): TargetOptions {
  const wordAfter = (name: string) => {
    const at = words.indexOf(name);
    if (at >= 0) return words[at + 1];
    return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  };
  const [url, apiKey, profile] = ['--url', '--api-key', '--profile'].map(wordAfter);
  return {
    ...(url === undefined ? {} : { url }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(profile === undefined ? {} : { profile }),
  };
}
