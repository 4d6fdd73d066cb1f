import { Command, InvalidArgumentError } from 'commander';
import { apiServerOfPod, createSecretStore } from '../certificates/secrets.ts';
import { print, table } from '../print.ts';

interface RenewFlags {
  authority: string;
  issue: { secret: string; names: string[] }[];
  days: number;
  label: [string, string][];
  json?: boolean;
}

export function certificatesRenewCommand(): Command {
  return new Command('renew')
    .description('in a pod of Kubernetes: make or renew the certificates between services, in Secrets')
    .requiredOption('--authority <secret>', 'the Secret of the authority that signs them')
    .requiredOption('--issue <secret=name,…>', 'a Secret, and the DNS names of its certificate; repeatable', toIssue)
    .option('--days <n>', 'life of a certificate; it is renewed when a third is left', toDays, 90)
    .option('--label <key=value>', 'a label of the Secrets; repeatable', toLabel, [])
    .action(async (flags: RenewFlags) => {
      // Loaded here: no other command needs its libraries.
      const { renewCertificates } = await import('../certificates/renew.ts');
      const { authority, issue: certificates, days } = flags;
      const labels = Object.fromEntries(flags.label);
      const store = createSecretStore(apiServerOfPod());
      const renewed = await renewCertificates(store, { authority, certificates, days, labels });
      const data = renewed.map(({ secret, reason, validTo }) => ({
        ...{ secret, renewed: reason !== undefined, reason: reason ?? null, valid_to: validTo.toISOString() },
      }));
      print(flags, { data }, () =>
        table(
          ['secret', 'renewed', 'valid to'],
          data.map(({ secret, reason, valid_to }) => [secret, reason ?? 'no', valid_to]),
        ),
      );
    });
}

export function certificatesRemoveCommand(): Command {
  return new Command('remove')
    .description('in a pod of Kubernetes: remove the Secrets that `renew` has made')
    .argument('<secret...>', 'their names')
    .action(async (secrets: string[], flags: { json?: boolean }) => {
      const store = createSecretStore(apiServerOfPod());
      const data: { secret: string; removed: boolean }[] = [];
      for (const secret of secrets) data.push({ secret, removed: await store.remove(secret) });
      print(flags, { data }, () =>
        table(
          ['secret', 'removed'],
          data.map(({ secret, removed }) => [secret, removed ? 'yes' : 'there was none']),
        ),
      );
    });
}

function toIssue(text: string, before: { secret: string; names: string[] }[] = []) {
  const [secret = '', list = ''] = text.split('=');
  const names = list.split(',');
  if (secret === '' || names.some((name) => !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name)))
    throw new InvalidArgumentError('say SECRET=name,name with DNS names in lower case');
  return [...before, { secret, names }];
}

function toLabel(text: string, before: [string, string][]): [string, string][] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('say KEY=VALUE');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

function toDays(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 3 || days > 825) throw new InvalidArgumentError('a whole number from 3 to 825');
  return days;
}
