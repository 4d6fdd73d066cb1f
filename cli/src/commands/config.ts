import { describeSettings } from '@rms/settings';
import type { Command } from 'commander';
import { print, table } from '../print.ts';

export function define(config: Command): void {
  config.action((options: { json?: boolean }) => {
    const data = describeSettings(process.env);
    print(options, { data }, () =>
      table(
        ['NAME', 'VALUE', 'SOURCE', 'DESCRIPTION'],
        data.map(({ name, value, source, about }) => [name, value, source, about]),
      ),
    );
  });
}
