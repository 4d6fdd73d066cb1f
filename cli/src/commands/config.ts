import { describeSettings, readStartSettings } from '@rms/runtime/settings';
import type { Command } from 'commander';
import { localServices } from '../local.ts';
import { print, table } from '../print.ts';

/** Shows the settings from a running `npm start`; otherwise, or with --shell, from the command's environment. */
export function define(config: Command): void {
  config
    .option('--shell', 'show the settings of this shell, even if npm start runs in DATA_DIR')
    .action((options: { shell?: boolean; json?: boolean }) => {
      const own = readStartSettings(process.env);
      const settings = options.shell ? undefined : localServices(own).settings;
      const data = settings ?? describeSettings(process.env);
      const source = settings ? 'service' : 'shell';
      print(options, { data, settings_of: source }, () => [about[source], '', tableOf(data)].join('\n'));
    });
}

const about = {
  service: 'Settings of the running service (npm start):',
  shell: 'Settings of this shell. A service that runs elsewhere has its own settings.',
};

function tableOf(data: readonly { name: string; value: string; source: string; about: string }[]): string {
  return table(
    ['NAME', 'VALUE', 'SOURCE', 'DESCRIPTION'],
    data.map(({ name, value, source, about: description }) => [name, value, source, description]),
  );
}
