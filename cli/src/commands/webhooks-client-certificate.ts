import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { updateAndPrint } from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

interface Options {
  cert?: string;
  key?: string;
  remove?: boolean;
  workspace?: string;
  json?: boolean;
}

export function webhooksClientCertificateCommand(): Command {
  return new Command('client-certificate')
    .description('set or remove the client certificate of a webhook (mutual TLS)')
    .argument('<id>', 'webhook ID')
    .option('--cert <file>', 'certificate in PEM, including its chain if there is one')
    .option('--key <file>', 'private key in PEM, unencrypted; it is stored encrypted and never shown')
    .addOption(new Option('--remove', 'remove the client certificate').conflicts(['cert', 'key']))
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const { cert, key, remove } = options;
      if (!remove && (cert === undefined || key === undefined))
        command.error('error: give --cert and --key, or --remove');
      const clientCertificate = { certificate: readText(cert), privateKey: readText(key) };
      return withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const change = { workspaceId, id, clientCertificate };
        await updateAndPrint(services, change, options, ({ client_certificate: used }) =>
          used ? `${id} uses ${used.subject}, valid until ${used.expires_at}` : `${id} uses no client certificate`,
        );
      });
    });
}

/**
 * Reads a file; returns '' if `file` is undefined. Throws if the file cannot be read, or if it is empty, because an empty
 * value would remove the certificate.
 */
function readText(file: string | undefined): string {
  if (file === undefined) return '';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`The file ${file} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, { cause });
  }
  if (text.trim() === '') throw new Error(`The file ${file} is empty.`);
  return text;
}
