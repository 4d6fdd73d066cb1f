import { Command, InvalidArgumentError } from 'commander';
import { apiServerOfPod, createSecretStore } from '../certificates/secrets.ts';
import { print, table } from '../print.ts';

interface RenewFlags {
  authority: string;
  issue: { secret: string; names: string[] }[];
  days: number;
  label?: [string, string][];
  json?: boolean;
}

export function certificatesRenewCommand(): Command {
  return new Command('renew')
    .description('create or renew the certificates of the services and store them in Secrets (in a Kubernetes pod)')
    .requiredOption('--authority <secret>', 'Secret of the signing authority')
    .requiredOption('--issue <secret=name,…>', 'Secret and the DNS names of its certificate; repeatable', toIssue)
    .option('--days <n>', 'validity of a certificate; it is renewed when a third remains', toDays, 90)
    .option('--label <key=value>', 'label for the Secrets; repeatable', toLabel)
    .action(async (flags: RenewFlags) => {
      // Loaded on demand, because no other command needs these libraries.
      const { renewCertificates } = await import('../certificates/renew.ts');
      const { authority, issue: certificates, days } = flags;
      const labels = Object.fromEntries(flags.label ?? []);
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

function toIssue(text: string, before: { secret: string; names: string[] }[] = []) {
  const [secret = '', list = ''] = text.split('=');
  const names = list.split(',');
  if (secret === '' || names.some((name) => !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name)))
    throw new InvalidArgumentError('Expected SECRET=name,name with lowercase DNS names.');
  return [...before, { secret, names }];
}

function toLabel(text: string, before: [string, string][] = []): [string, string][] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected KEY=VALUE.');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

function toDays(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 3 || days > 825) throw new InvalidArgumentError('Expected 3 to 825.');
  return days;
}
