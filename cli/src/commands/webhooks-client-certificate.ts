import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { webhookDocument } from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  cert?: string;
  key?: string;
  remove?: boolean;
  workspace?: string;
  json?: boolean;
}

export function webhooksClientCertificateCommand(): Command {
  return new Command('client-certificate')
    .description('set the certificate that an endpoint is shown (mutual TLS), or remove it')
    .argument('<id>', 'the webhook')
    .option('--cert <file>', 'the certificate in PEM, with its chain if there is one')
    .option('--key <file>', 'its private key in PEM, not encrypted; it is kept sealed, and never shown')
    .addOption(new Option('--remove', 'show none any more').conflicts(['cert', 'key']))
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const { cert, key, remove } = options;
      if (!remove && (cert === undefined || key === undefined))
        command.error('error: say --cert and --key, or --remove');
      const clientCertificate = { certificate: readText(cert), privateKey: readText(key) };
      return withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { webhook } = await services.webhooks.updateWebhook({ workspaceId, id, clientCertificate });
        if (!webhook) return;
        const document = webhookDocument(webhook);
        print(options, document, () =>
          document.client_certificate
            ? `${id} shows ${document.client_certificate.subject}, until ${document.client_certificate.expires_at}`
            : `${id} shows no client certificate`,
        );
      });
    });
}

/** Empty for no file. An empty file would mean that the certificate is to go. */
function readText(file: string | undefined): string {
  if (file === undefined) return '';
  const text = readFileSync(file, 'utf8');
  if (text.trim() === '') throw new Error(`${file} is empty`);
  return text;
}
