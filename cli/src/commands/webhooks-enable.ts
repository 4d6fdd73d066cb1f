import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { confirmConsequence } from '../confirm.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import type { Services } from '../services.ts';
import { listedWebhooks, pendingText, updateAndPrint } from '../webhooks.ts';
import { type WorkspaceOptions, workspaceWith } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  yes?: boolean;
  json?: boolean;
}

export function webhooksEnableCommand(): Command {
  return command('enable', 'enable a webhook; it receives new events').action((id: string, options: Options) =>
    withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) =>
      setStatus(
        services,
        { workspaceId: await workspaceIdOf(services, options, id), id },
        WebhookStatus.ACTIVE,
        options,
      ),
    ),
  );
}

export function webhooksDisableCommand(): Command {
  return command('disable', 'disable a webhook; its pending deliveries fail, and new events are recorded as skipped')
    .option('--yes', 'do not ask for confirmation')
    .action((id: string, options: Options) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceIdOf(services, options, id);
        const { webhook } = await services.webhooks.getWebhook({ workspaceId, id });
        const [found] = await listedWebhooks(services, workspaceId, [webhook]);
        if (found && found.status !== 'disabled') {
          await confirmConsequence(
            `This disables ${id} (${found.url}). Failing now: ${pendingText(found)} (webhook_disabled). New events are recorded as ` +
              'skipped. After the webhook is enabled again, both can be redelivered. `rms webhooks pause` keeps the queue instead.',
            options,
          );
        }
        await setStatus(services, { workspaceId, id }, WebhookStatus.DISABLED, options);
      }),
    );
}

export function webhooksPauseCommand(): Command {
  return command('pause', 'pause a webhook; its queue is kept, and nothing is sent until it is resumed').action(
    (id: string, options: Options) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const ref = { workspaceId: await workspaceIdOf(services, options, id), id };
        const { webhook } = await services.webhooks.pauseWebhook(ref);
        const listed = await listedWebhooks(services, ref.workspaceId, [webhook]);
        for (const one of listed) print(options, one, () => `${id} is ${one.status}`);
      }),
  );
}

export function webhooksResumeCommand(): Command {
  return command('resume', 'resume a paused webhook; its queued deliveries are attempted').action(
    (id: string, options: Options) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const ref = { workspaceId: await workspaceIdOf(services, options, id), id };
        const { webhook } = await services.webhooks.resumeWebhook(ref);
        const listed = await listedWebhooks(services, ref.workspaceId, [webhook]);
        for (const one of listed) print(options, one, () => `${id} is ${one.status}`);
      }),
  );
}

function command(name: string, about: string): Command {
  return new Command(name).description(about).argument('<id>', 'webhook ID').addOption(workspaceOption());
}

function workspaceIdOf(services: Pick<Services, 'workspaces' | 'webhooksLookup'>, options: Options, id: string) {
  return workspaceWith(services, options, [services.webhooksLookup], id);
}

async function setStatus(
  services: Pick<Services, 'webhooks'>,
  ref: { readonly workspaceId: string; readonly id: string },
  status: WebhookStatus,
  options: Options,
): Promise<void> {
  await updateAndPrint(services, { ...ref, status }, options, (webhook) => `${ref.id} is ${webhook.status}`);
}
