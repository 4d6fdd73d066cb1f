import { isWellFormedSecret, makeSecret, toSigningSecret } from '@rms/base/signature';
import { type Environment, type Tenant, toEnvironmentMessage } from '@rms/base/tenant';
import { receivedTypes } from '@rms/base/webhook-events';
import type { FeedEvent } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { type Command, Option } from 'commander';
import { environmentOption, eventTypes, httpUrl, position, workspaceOption } from '../arguments.ts';
import type { OpenFeed } from '../clients.ts';
import { withServices } from '../connect.ts';
import { firstEventType } from '../first-event.ts';
import { followFeed } from '../follow-feed.ts';
import { forward, type Response } from '../forward.ts';
import { untilInterrupted } from '../interrupted.ts';
import { note, printLine } from '../print.ts';
import { followEvents } from '../with-key/follow-events.ts';
import { addTargetOptions, requireTarget } from '../with-key/operations.ts';
import type { Profile } from '../with-key/profiles.ts';
import { environmentOf } from '../with-key/target.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  forwardTo: URL;
  environment: Environment;
  events: string[];
  after?: bigint;
  secret?: string;
  workspace?: string;
  json?: boolean;
}

/** An event of either feed. */
type Followed = Pick<FeedEvent, 'id' | 'type' | 'position' | 'body' | 'requestId'>;

/**
 * Opens the feed. Calls `started` once, with the events that it follows ("live events of ws_…"), a hint about others, and
 * the sequence that it starts after.
 */
type OpenEvents = (
  started: (what: string, hint: string, from: bigint) => void,
  signal: AbortSignal,
) => AsyncIterable<Followed>;

const help = `
Needs no webhook and changes nothing in the service; webhooks still get their events. A failed event is not retried; use
--after to start from an earlier event. Press Ctrl-C to stop.`;

/** Without an API key: the webhooks service's feed. */
export function define(listen: Command): void {
  addOptions(listen)
    .addOption(environmentOption('environment of the events').default('sandbox'))
    .addOption(workspaceOption())
    .action((options: Options, command: Command) =>
      withServices(['workspaces'], async (services, openFeed) => {
        const workspaceId = await workspaceOf(services, options);
        await forwardAll(options, command, feedOf(openFeed, workspaceId, options));
      }),
    );
}

/** With an API key: the API's feed, in the key's environment. */
export function defineWithKey(listen: Command): void {
  addTargetOptions(addOptions(listen));
  listen.action((options: Options, command: Command) =>
    forwardAll(options, command, apiFeed(requireTarget(command), options)),
  );
}

function addOptions(listen: Command): Command {
  return listen
    .requiredOption('--forward-to <url>', 'target URL, e.g. http://localhost:3000/hook', httpUrl)
    .addOption(
      new Option('--events <types>', 'only these types, separated by commas, e.g. resource.created,resource.deleted')
        .argParser(eventTypes)
        .default(['*'], 'all types of events about resources'),
    )
    .option(
      '--after <sequence>',
      'start after this event, 0 for all retained events (default: only new events)',
      position,
    )
    .addOption(
      new Option(
        '--secret <secret>',
        'signing secret "whsec_…"; safer in the environment variable (default: a new secret)',
      ).env('RMS_LISTEN_SECRET'),
    )
    .option('--json', 'print one JSON document per event and line (NDJSON)')
    .addHelpText('after', help);
}

/** Forwards a feed's events until the user interrupts the command. */
async function forwardAll(options: Options, command: Command, open: OpenEvents): Promise<void> {
  const secret = options.secret ?? makeSecret();
  if (!isWellFormedSecret(secret)) {
    command.error('error: the secret must be "whsec_" followed by 24 to 64 bytes in Base64');
  }
  const ended = untilInterrupted();
  const stop = new AbortController();
  ended.addEventListener('abort', () => stop.abort(ended.reason), { once: true });
  try {
    await forwardFeed(options, secret, open, stop.signal);
  } catch (error) {
    if (!ended.aborted) throw error;
  } finally {
    // After a failure, the other environment's feed ends as well.
    stop.abort();
  }
}

async function forwardFeed(options: Options, secret: string, open: OpenEvents, signal: AbortSignal): Promise<void> {
  const { forwardTo, events, json } = options;
  const secrets = { current: toSigningSecret(secret), previous: undefined };
  const started = (what: string, hint: string, from: bigint) => {
    const say = json ? note : (text: string) => printLine(options, {}, text);
    say(`Forwarding ${what} after sequence ${from} to ${forwardTo.href}`);
    say(hint);
    say(`Signing secret: ${secret}`);
  };
  for await (const event of open(started, signal)) {
    if (!receivedTypes(events).some((type) => type === event.type)) continue;
    const at = new Date().toISOString();
    // The body of an erased event is empty.
    const response: Response =
      event.body.length === 0
        ? { statusCode: undefined, error: 'erased: not sent', durationMs: 0 }
        : await forward(forwardTo, secrets, { ...event, eventId: event.id }, signal);
    const document = documentOf(at, event, response);
    printLine(options, document, lineOf(document));
  }
}

function feedOf(openFeed: OpenFeed, workspaceId: string, { environment, after }: Options): OpenEvents {
  const other = environment === 'live' ? 'sandbox' : 'live';
  return (opened, signal) => {
    const started = (from: bigint) => {
      opened(`${environment} events of ${workspaceId}`, `For ${other} events, add --environment ${other}`, from);
      void noteFirst(openFeed, { workspaceId, environment: other }, signal);
    };
    return followFeed(
      openFeed,
      { workspaceId, environment: toEnvironmentMessage(environment), after, started },
      signal,
    );
  };
}

function apiFeed(target: Profile, { after }: Options): OpenEvents {
  const environment = environmentOf(target);
  const other = environment === 'live' ? 'sandbox' : 'live';
  return async function* (opened, signal) {
    const started = (from: number) =>
      opened(`${environment} events of ${target.url}`, `For ${other} events, use a ${other} key`, BigInt(from));
    for await (const event of followEvents(target, { after, started }, signal)) {
      const { sequence, ...sent } = event;
      const body = event.data === null ? Buffer.alloc(0) : Buffer.from(JSON.stringify(sent));
      // The API's feed does not contain the request ID.
      yield { id: event.id, type: event.type, position: BigInt(sequence), body, requestId: '' };
    }
  };
}

/** Prints a note about the first event in the environment that is not forwarded. */
async function noteFirst(openFeed: OpenFeed, { workspaceId, environment }: Tenant, signal: AbortSignal): Promise<void> {
  const type = await firstEventType(openFeed, { workspaceId, environment: toEnvironmentMessage(environment) }, signal);
  if (type === undefined) return;
  note(
    `${type} in ${environment}, which is not forwarded; add --environment ${environment} to forward ${environment} events`,
  );
}

function documentOf(at: string, event: Followed, { statusCode, error, durationMs }: Response) {
  return {
    at,
    sequence: Number(event.position),
    event_id: event.id,
    event_type: event.type,
    resource_id: resourceIdOf(event),
    request_id: event.requestId || null,
    status_code: statusCode ?? null,
    error: error ?? null,
    duration_ms: durationMs,
  };
}

function lineOf(document: ReturnType<typeof documentOf>): string {
  const { at, event_type: type, event_id: id, resource_id: resource, status_code: status, error } = document;
  const response = status === null ? error : status;
  return `${at}  ${type.padEnd(23)}  ${id}  ${resource ?? ''}  ${response}  ${document.duration_ms} ms  #${document.sequence}`;
}

/** Returns the resource ID; null if the event is erased. */
function resourceIdOf({ body }: Followed): string | null {
  if (body.length === 0) return null;
  const { data } = JSON.parse(Buffer.from(body).toString('utf8')) as { data?: { object?: { id?: string } } };
  return data?.object?.id ?? null;
}
