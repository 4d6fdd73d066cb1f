import { createLogger, readSettings, SettingsError } from '@rms/service';
import { Command } from 'commander';
import { migrateAll } from '../migrate-all.ts';
import { print } from '../print.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('bring the database of DATABASE_URL up to date (npm start does so by itself)')
    .action(async (options: { json?: boolean }) => {
      const settings = readSettings(process.env);
      if (settings.DATABASE_URL === '') {
        throw new SettingsError('DATABASE_URL must be set; npm start keeps its embedded database up to date by itself');
      }
      const log = createLogger({ name: 'migrate', level: 'warn', destination: process.stderr });
      const data = await migrateAll(settings, log);
      print(options, { data }, () =>
        data.map(({ schema, applied }) => `${schema}: ${applied.join(', ') || 'up to date'}`).join('\n'),
      );
    });
}
