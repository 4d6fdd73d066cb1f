import type { FeedEvent } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { isWellFormedSecret, makeSecret, toSigningSecret } from '@rms/signature';
import { Command, Option } from 'commander';
import { eventTypes, httpUrl, position, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { type EnvironmentName, toEnvironment } from '../documents.ts';
import { followFeed } from '../follow-feed.ts';
import { type Answer, forward } from '../forward.ts';
import { untilInterrupted } from '../interrupted.ts';
import { note, printLine } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  forwardTo: URL;
  environment: EnvironmentName;
  events: string[];
  after?: bigint;
  secret?: string;
  workspace?: string;
  json?: boolean;
}

const help = `
Needs no webhook, and changes nothing in the service: what webhooks get, they get as well. An event that did not arrive is
not sent again; --after sends from an earlier one on. Ctrl-C ends it.`;

export function listenCommand(): Command {
  return new Command('listen')
    .description('send events to a URL as they come, signed like deliveries, for development')
    .requiredOption('--forward-to <url>', 'where to, e.g. http://localhost:3000/hook', httpUrl)
    .addOption(new Option('--environment <name>', 'whose events').choices(['live', 'test']).default('test'))
    .option('--events <types>', 'only these, with commas, e.g. resource.created,resource.deleted', eventTypes, ['*'])
    .option('--after <sequence>', 'begin after this event, 0: the first that is kept; else: from now on', position)
    .addOption(
      new Option(
        '--secret <secret>',
        'sign with this "whsec_…"; in the environment fewer people see it; else a new one is made',
      ).env('RMS_LISTEN_SECRET'),
    )
    .addOption(workspaceOption())
    .option('--json', 'print one JSON document a line (NDJSON) for each event')
    .addHelpText('after', help)
    .action(async (options: Options, command: Command) => {
      const secret = options.secret ?? makeSecret();
      if (!isWellFormedSecret(secret)) {
        command.error('error: the secret must be "whsec_" and 24 to 64 bytes in base64');
      }
      const ended = untilInterrupted();
      try {
        await listen(options, secret, ended);
      } catch (error) {
        if (!ended.aborted) throw error;
      }
    });
}

function listen(options: Options, secret: string, signal: AbortSignal): Promise<void> {
  const { forwardTo, environment, events, after, json } = options;
  const secrets = { current: toSigningSecret(secret), previous: undefined };
  return withServices(async (services, openFeed) => {
    const workspaceId = await workspaceOf(services, options);
    const begun = (from: bigint) => {
      const say = json ? note : (text: string) => printLine(options, {}, text);
      say(`${environment} events of ${workspaceId} after event ${from} go to ${forwardTo.href}`);
      say(`signed with ${secret}`);
    };
    const following = { workspaceId, environment: toEnvironment(environment), after, begun };
    for await (const event of followFeed(openFeed, following, signal)) {
      if (!events.includes('*') && !events.includes(event.type)) continue;
      const at = new Date().toISOString();
      // The body of an erased event is gone.
      const answer: Answer =
        event.body.length === 0
          ? { statusCode: undefined, error: 'erased: it is not sent', durationMs: 0 }
          : await forward(forwardTo, secrets, { ...event, eventId: event.id }, signal);
      const document = documentOf(at, event, answer);
      printLine(options, document, lineOf(document));
    }
  });
}

function documentOf(at: string, event: FeedEvent, { statusCode, error, durationMs }: Answer) {
  return {
    at,
    sequence: Number(event.position),
    event_id: event.id,
    event_type: event.type,
    resource_id: resourceIdOf(event),
    request_id: event.requestId,
    status_code: statusCode ?? null,
    error: error ?? null,
    duration_ms: durationMs,
  };
}

function lineOf(document: ReturnType<typeof documentOf>): string {
  const { at, event_type: type, event_id: id, resource_id: resource, status_code: status, error } = document;
  const answer = status === null ? error : status;
  return `${at}  ${type.padEnd(23)}  ${id}  ${resource ?? ''}  ${answer}  ${document.duration_ms} ms  #${document.sequence}`;
}

/** Null once the event is erased. */
function resourceIdOf({ body }: FeedEvent): string | null {
  if (body.length === 0) return null;
  const { data } = JSON.parse(Buffer.from(body).toString('utf8')) as { data?: { object?: { id?: string } } };
  return data?.object?.id ?? null;
}
