import { Command } from 'commander';
import { apiServerOfPod, createSecretStore } from '../certificates/secrets.ts';
import { print, table } from '../print.ts';

export function certificatesRemoveCommand(): Command {
  return new Command('remove')
    .description('delete the Secrets that `renew` created (in a Kubernetes pod)')
    .argument('<secret...>', 'names of the Secrets')
    .action(async (secrets: string[], flags: { json?: boolean }) => {
      const store = createSecretStore(apiServerOfPod());
      const data: { secret: string; removed: boolean }[] = [];
      for (const secret of secrets) data.push({ secret, removed: await store.remove(secret) });
      print(flags, { data }, () =>
        table(
          ['secret', 'removed'],
          data.map(({ secret, removed }) => [secret, removed ? 'yes' : 'not found']),
        ),
      );
    });
}
