import { migrations as audit } from '@rms/audit';
import { migrations as auth } from '@rms/auth/migrations';
import { createPool, migrate } from '@rms/db';
import { migrations as outbox } from '@rms/outbox';
import { migrations as resources } from '@rms/resources/migrations';
import { createLogger, readSettings, SettingsError } from '@rms/service';
import { migrations as webhooks } from '@rms/webhooks/migrations';
import { Command } from 'commander';
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
      const pool = createPool({ url: settings.DATABASE_URL, max: 1, applicationName: 'rms-migrate', log });
      try {
        const results = await migrate(pool, [audit, auth, outbox, resources, webhooks]);
        print(options, { data: results }, () =>
          results.map(({ schema, applied }) => `${schema}: ${applied.join(', ') || 'up to date'}`).join('\n'),
        );
      } finally {
        await pool.end();
      }
    });
}
