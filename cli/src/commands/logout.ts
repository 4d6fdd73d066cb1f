import type { Command } from 'commander';
import { print } from '../print.ts';
import { defaultProfile, readProfiles, writeProfiles } from '../with-key/profiles.ts';

export function define(logout: Command): void {
  logout
    .option('--profile <name>', 'name of the profile', defaultProfile)
    .action((options: { profile: string; json?: boolean }) => {
      const { [options.profile]: removed, ...others } = readProfiles();
      if (!removed) throw new Error(`There is no profile "${options.profile}".`);
      writeProfiles(others);
      print(
        options,
        { profile: options.profile, url: removed.url },
        () => `Removed the key of ${removed.url}. It stays valid.`,
      );
    });
}
