import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';

const limitMs = 24 * 3_600_000;

const how = `
How to change ENCRYPTION_KEY:
  1. Put the present key into ENCRYPTION_KEY_PREVIOUS and a new one (32 random bytes in base64) into ENCRYPTION_KEY, and
     restart the services. What the old key has encrypted can still be read. Under npm start the present key is the one
     in DATA_DIR/encryption.key.
  2. Run this command.
  3. Take ENCRYPTION_KEY_PREVIOUS away again.`;

export function secretsRotateCommand(): Command {
  return new Command('rotate')
    .description('encrypt what earlier encryption keys have encrypted with the present one')
    .addHelpText('after', how)
    .action((options: { json?: boolean }) =>
      withServices(async (services) => {
        let [reencrypted, unreadable] = [0, 0];
        for await (const progress of services.secrets.reencryptSecrets({}, { timeoutMs: limitMs })) {
          reencrypted = Number(progress.reencrypted);
          unreadable = Number(progress.unreadable);
        }
        if (unreadable > 0) process.exitCode = 1;
        print(options, { reencrypted, unreadable }, () =>
          unreadable > 0
            ? `${reencrypted} encrypted anew; ${unreadable} cannot be read with any key that is set: is one missing in ENCRYPTION_KEY_PREVIOUS?`
            : `${reencrypted} encrypted anew; ENCRYPTION_KEY_PREVIOUS is not needed any more`,
        );
      }),
    );
}
