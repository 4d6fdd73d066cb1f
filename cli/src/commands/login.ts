import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { print } from '../print.ts';
import { ApiError, callApi } from '../with-key/api.ts';
import { defaultProfile, profilesFile, readProfiles, writeProfiles } from '../with-key/profiles.ts';
import { baseUrl, environmentOf } from '../with-key/target.ts';

interface Options {
  url?: string;
  apiKey?: string;
  profile: string;
  json?: boolean;
}

export function define(login: Command): void {
  login
    .option('--url <url>', 'address of the API, with the path of a prefix (default: RMS_URL)')
    .option('--api-key <key>', 'API key (default: RMS_API_KEY, otherwise the first line of stdin)')
    .option('--profile <name>', 'name of the profile', defaultProfile)
    .action(async (options: Options, command: Command) => {
      const address = options.url ?? process.env.RMS_URL;
      if (!address) return command.error('error: --url or RMS_URL is required');
      const url = baseUrl(address);
      const key = (options.apiKey ?? process.env.RMS_API_KEY) || (await askForKey());
      if (!/^sk_(?:live|test)_\w+$/.test(key))
        throw new Error('This is not an API key; expected sk_live_… or sk_test_….');
      const target = { url, api_key: key };
      const workspace = await workspaceOf(target);
      writeProfiles({ ...readProfiles(), [options.profile]: target });
      const environment = environmentOf(target);
      const document = {
        profile: options.profile,
        url,
        environment,
        workspace: workspace ?? null,
        file: profilesFile(),
      };
      const where = workspace ? `${workspace.name} (${workspace.id})` : 'a workspace';
      print(
        options,
        document,
        () => `Logged in to ${where}, ${environment}, at ${url}. The key is in ${document.file}.`,
      );
    });
}

/** Returns a key's workspace; undefined if its scope does not permit that. Throws if the key is not valid. */
async function workspaceOf(target: {
  url: string;
  api_key: string;
}): Promise<{ id: string; name: string } | undefined> {
  try {
    const { data } = await callApi<{ data: { id: string; name: string } }>(target, {
      method: 'get',
      path: '/v1/workspace',
    });
    return { id: data.id, name: data.name };
  } catch (error) {
    if (error instanceof ApiError && error.status === 403 && error.code === 'insufficient_scope') return undefined;
    throw error;
  }
}

/** Reads the key from stdin. A terminal does not show it. */
async function askForKey(): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write('API key: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: stdin.isTTY });
  try {
    return await new Promise<string>((resolve) => {
      lines.once('line', (line) => resolve(line.trim())).once('close', () => resolve(''));
    });
  } finally {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
  }
}
