import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import { nextStep, type Reencrypted, reencrypt } from '../reencrypt.ts';

const help = `
Changing ENCRYPTION_KEY, without an interruption:
  1. Make a key: node -p 'crypto.randomBytes(32).toString("base64")'
  2. Only with several instances: put the new key into ENCRYPTION_KEY_PREVIOUS everywhere, so that each opens what others
     seal with it.
  3. Make it ENCRYPTION_KEY, put the key before it into ENCRYPTION_KEY_PREVIOUS, and start all instances again.
  4. rms secrets rotate
  5. Once it says so, remove ENCRYPTION_KEY_PREVIOUS and start again. Cursors of lists from before step 3 end with this.

With npm start and no ENCRYPTION_KEY, the key is the file encryption.key in DATA_DIR:
  3. Stop it, then: mv -n .data/encryption.key .data/encryption.key.previous
     npm start makes a new key.
  5. Once it says so, remove .data/encryption.key.previous.

It may run at any time, several times, and again after it broke off. Webhooks keep their secrets, people their
authenticators, and mails that wait what they say.`;

export function secretsRotateCommand(): Command {
  return new Command('rotate')
    .description('seal all that earlier encryption keys have sealed with the current ENCRYPTION_KEY')
    .addHelpText('after', help)
    .action((options: { json?: boolean }) =>
      withServices(async (services) => {
        // Each service that seals anything; alerts after auth, from which mails go to it.
        const sealing = { auth: services.authSecrets, webhooks: services.secrets, alerts: services.alertsSecrets };
        const data: Reencrypted[] = [];
        for (const [name, client] of Object.entries(sealing)) if (client) data.push(await reencrypt(name, client));
        const done = data.every(({ left }) => left === 0);
        print(options, { done, data }, () => [overview(data), '', nextStep(data)].join('\n'));
        if (!done) process.exitCode = 1;
      }),
    );
}

function overview(data: readonly Reencrypted[]): string {
  return table(
    ['SERVICE', 'SEALED ANEW', 'ALREADY CURRENT', 'UNREADABLE'],
    data.map((one) => [one.service, `${one.resealed}`, `${one.already_current}`, `${one.unreadable}`]),
  );
}
