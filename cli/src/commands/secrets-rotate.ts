import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '@rms/runtime/settings';
import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { localServices } from '../local.ts';
import { print, table } from '../print.ts';
import { nextStep, type Reencrypted, reencrypt } from '../reencrypt.ts';

const help = `
To change ENCRYPTION_KEY without downtime:
  1. Create a key: node -p 'crypto.randomBytes(32).toString("base64")'
  2. With several instances only: set ENCRYPTION_KEY_PREVIOUS to the new key on every instance and restart, so that each
     can decrypt what others encrypt with it.
  3. Set ENCRYPTION_KEY to the new key and ENCRYPTION_KEY_PREVIOUS to the old one, and restart all instances.
  4. rms secrets rotate
  5. When it reports success, remove ENCRYPTION_KEY_PREVIOUS and restart. Cursors from before step 3 become invalid.

With npm start and no ENCRYPTION_KEY, the key is in the file encryption.key in DATA_DIR:
  3. Stop the process, then: mv -n .data/encryption.key .data/encryption.key.previous
     The next npm start creates a new key.
  5. When it reports success, remove .data/encryption.key.previous.

The command can run at any time, and again after it was interrupted. Webhook secrets, second factors and queued emails
keep their content.`;

export function secretsRotateCommand(): Command {
  return new Command('rotate')
    .description('re-encrypt all secrets with the current ENCRYPTION_KEY')
    .addHelpText('after', help)
    .action((options: { json?: boolean }) =>
      withServices(['authSecrets', 'webhooksSecrets', 'alertsSecrets'], async (services) => {
        // Services with encrypted data. alerts follows auth, because emails move from auth to alerts.
        const sealing = {
          auth: services.authSecrets,
          webhooks: services.webhooksSecrets,
          alerts: services.alertsSecrets,
        };
        const data: Reencrypted[] = [];
        for (const [name, client] of Object.entries(sealing)) if (client) data.push(await reencrypt(name, client));
        const done = data.every(({ remaining }) => remaining === 0);
        print(options, { done, data }, () => [overview(data), '', nextStep(data, previousKeysPlace())].join('\n'));
        if (!done) process.exitCode = 1;
      }),
    );
}

function overview(data: readonly Reencrypted[]): string {
  return table(
    ['SERVICE', 'RE-ENCRYPTED', 'ALREADY CURRENT', 'UNREADABLE'],
    data.map((one) => [one.service, `${one.resealed}`, `${one.already_current}`, `${one.unreadable}`]),
  );
}

/** Returns where previous keys are configured: with npm start in a file, if it exists, otherwise in the setting. */
function previousKeysPlace(): string {
  const settings = readSettings(process.env);
  const file = join(settings.DATA_DIR, 'encryption.key.previous');
  return localServices(settings).auth !== undefined && existsSync(file) ? file : 'ENCRYPTION_KEY_PREVIOUS';
}
