import { createLogger } from '@rms/runtime/logging';
import { readSettings, SettingsError } from '@rms/runtime/settings';
import type { Command } from 'commander';
import { migrateAll } from '../migrate-all.ts';
import { print } from '../print.ts';

export function define(migrate: Command): void {
  migrate.action(async (options: { json?: boolean }) => {
    const settings = readSettings(process.env);
    if (settings.DATABASE_URL === '') {
      throw new SettingsError('DATABASE_URL must be set. npm start migrates its embedded database automatically.');
    }
    const log = createLogger({ name: 'migrate', level: 'warn', destination: process.stderr });
    const data = await migrateAll(settings, log);
    print(options, { data }, () =>
      data.map(({ schema, applied }) => `${schema}: ${applied.join(', ') || 'up to date'}`).join('\n'),
    );
  });
}
