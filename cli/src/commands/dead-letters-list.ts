import { timeOf } from '@rms/api/times';
import { environmentOf } from '@rms/base/tenant';
import type { DeadLetter } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { Command, Option } from 'commander';
import { positiveNumber } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  workspace?: string;
  limit: number;
  json?: boolean;
}

export function deadLettersListCommand(): Command {
  return new Command('list')
    .description('list records that could not be stored as events, oldest first; --json shows them completely')
    .option('--limit <n>', 'maximum number of dead letters', positiveNumber, 1_000)
    .addOption(new Option('--workspace <name-or-id>', 'only dead letters of this workspace'))
    .action((options: Options) =>
      withServices(['workspaces', 'deadLetters'], async (services) => {
        const workspaceId = options.workspace === undefined ? '' : await workspaceOf(services, options);
        const { found, more } = await takePages(options.limit, async (page) => {
          const { deadLetters, nextPageToken } = await services.deadLetters.listDeadLetters({ workspaceId, ...page });
          return { items: deadLetters, nextPageToken };
        });
        const data = found.map(deadLetterDocument);
        print(options, { data }, () =>
          table(
            [
              'ID',
              'STATE',
              'REASON',
              'TIME',
              'WORKSPACE',
              'ENVIRONMENT',
              'EVENT',
              'KEY',
              'PARTITION',
              'OFFSET',
              'ERROR',
            ],
            data.map((letter) => [
              ...[`${letter.id}`, letter.state, letter.reason, letter.time ?? '', letter.workspace_id ?? ''],
              ...[letter.environment ?? '', letter.headers['event-id'] ?? '', letter.key],
              ...[`${letter.partition}`, `${letter.offset}`, letter.error],
            ]),
          ),
        );
        if (more) note(`showing the oldest ${data.length} dead letters; --limit shows more`);
      }),
    );
}

function deadLetterDocument({ id, parked, storeTime, workspaceId, environment, value, offset, ...letter }: DeadLetter) {
  const { reason, error, topic, partition, key, headers } = letter;
  return {
    id: Number(id),
    state: parked ? 'parked' : 'kept',
    reason,
    error,
    time: timeOf(storeTime),
    workspace_id: workspaceId || null,
    environment: environmentOf(environment) ?? null,
    topic,
    partition,
    offset: Number(offset),
    key,
    headers,
    value_base64: Buffer.from(value).toString('base64'),
  };
}
