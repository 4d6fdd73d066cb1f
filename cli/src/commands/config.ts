import { describeSettings } from '@rms/service';
import { Command } from 'commander';
import { print, table } from '../print.ts';

export function configCommand(): Command {
  return new Command('config')
    .description('show all settings, their values and where those come from; secrets stay hidden')
    .action((options: { json?: boolean }) => {
      const data = describeSettings(process.env);
      print(options, { data }, () =>
        table(
          ['NAME', 'VALUE', 'FROM', 'WHAT IT IS'],
          data.map(({ name, value, source, about }) => [name, value, source, about]),
        ),
      );
    });
}
