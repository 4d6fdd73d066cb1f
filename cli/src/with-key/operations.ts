import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type AlertChannelTest,
  type AlertRuleTest,
  type Endpoint,
  parameterOf,
  type TestAttempt,
  type Webhook,
} from '@rms/api';
import { endpoints } from '@rms/api/endpoints';
import { type InputField, inputFields } from '@rms/api/input-fields';
import { Command, InvalidArgumentError, Option } from 'commander';
import { collect, futureTime, pointInTime, positiveNumber } from '../arguments.ts';
import { requireAccepted } from '../attempts.ts';
import { confirmConsequence } from '../confirm.ts';
import { untilInterrupted } from '../interrupted.ts';
import { note, print, printLine } from '../print.ts';
import { pendingText } from '../webhooks.ts';
import { callApi } from './api.ts';
import { lineText, type Noun, oneText, rowsText } from './documents.ts';
import { followRequests } from './follow-requests.ts';
import { takeList } from './lists.ts';
import type { Profile } from './profiles.ts';
import { type TargetOptions, targetOf, targetOptions } from './target.ts';

/** The collection of each group of commands, as in the API's paths. */
const collections: Readonly<Record<Noun, string>> = {
  resources: 'resources',
  webhooks: 'webhooks',
  events: 'events',
  deliveries: 'deliveries',
  replays: 'replays',
  portal: 'portal_sessions',
  requests: 'requests',
  metrics: 'metrics',
  'alert-rules': 'alert_rules',
  incidents: 'incidents',
  'alert-channels': 'alert_channels',
  keys: 'api_keys',
  members: 'members',
  invitations: 'invitations',
  workspace: 'workspace',
  audit: 'audit_log',
};

/** Groups that list their objects without a subcommand. */
const listedByDefault = new Set<Noun>(['requests', 'alert-rules', 'alert-channels']);

/** Stands for null among the options, because commander replaces a parsed null with an empty text. */
const nothing = Symbol('null');

/** Fields of a list's query that `--limit` replaces. */
const paging = new Set(['per_page', 'cursor']);

/** The options of every command, and the fields' values by the names of their options. */
interface Options extends TargetOptions, Readonly<Record<string, unknown>> {
  readonly json?: boolean;
  readonly data?: string;
  readonly limit?: number;
  readonly follow?: boolean;
  readonly ifMatch?: string;
  readonly idempotencyKey?: string;
  readonly yes?: boolean;
}

/** Adds a command per API operation on a noun. They need only an API key. */
export function defineOperations(group: Command, noun: Noun): void {
  for (const { name, endpoint } of operationsOn(noun)) {
    const command = new Command(name);
    const parameter = parameterOf(endpoint.path);
    if (parameter !== undefined) command.argument(`<${parameter.replaceAll('_', '-')}>`);
    addOperation(command, noun, endpoint);
    group.addCommand(command, { isDefault: name === 'list' && listedByDefault.has(noun) });
  }
}

/** Makes a command one operation of the API on a noun. */
export function defineOperation(command: Command, noun: Noun, operation: 'list' | 'show' | 'create'): void {
  const found = operationsOn(noun).find(({ name }) => name === operation);
  if (found) addOperation(command, noun, found.endpoint);
}

function operationsOn(noun: Noun): { readonly name: string; readonly endpoint: Endpoint }[] {
  return endpoints.flatMap((endpoint) => {
    const [, , collection, id, action] = endpoint.path.split('/');
    return collection === collections[noun] ? [{ name: nameOf(endpoint, noun, id, action), endpoint }] : [];
  });
}

function nameOf(
  { method, operationId }: Endpoint,
  noun: Noun,
  id: string | undefined,
  action: string | undefined,
): string {
  if (action !== undefined) {
    const verb = method === 'put' || method === 'delete' ? `${/^[a-z]+/.exec(operationId)?.[0]}-` : '';
    return verb + action.replaceAll('_', '-');
  }
  if (id !== undefined && !id.startsWith('{')) return id.replaceAll('_', '-');
  if (id === undefined) return method === 'post' ? 'create' : 'list';
  if (method === 'get') return 'show';
  if (method === 'patch' || method === 'put') return 'update';
  return { keys: 'revoke', invitations: 'revoke', members: 'remove' }[noun as string] ?? 'delete';
}

/** A field and its option. */
interface Input {
  readonly field: InputField;
  readonly option: Option;
}

function addOperation(command: Command, noun: Noun, endpoint: Endpoint): void {
  const fields = inputFields(endpoint, 'query');
  const isList = fields.some(({ name }) => name === 'per_page');
  const query = fields.filter(({ name }) => !paging.has(name)).map(inputOf);
  const body = inputFields(endpoint, 'body').map(inputOf);
  command.description(`${startOf(endpoint.summary)} (${endpoint.permission})`);
  for (const { option } of [...query, ...body]) command.addOption(option);
  if (isList) command.option('--limit <n>', 'maximum number of items', positiveNumber, 100);
  if (isList && noun === 'requests') command.addOption(followOption());
  if (body.length > 0) {
    command.option('--data <json>', 'fields of the body as JSON, "@file" or "-" for stdin; options replace its fields');
  }
  if (endpoint.conditional && endpoint.method !== 'get' && endpoint.method !== 'post') {
    command.option('--if-match <etag>', 'change the object only if it has this ETag');
  }
  if (endpoint.operationId in confirmedTexts) command.option('--yes', 'do not ask for confirmation');
  if (endpoint.idempotent) command.option('--idempotency-key <key>', 'default: a random key');
  addTargetOptions(command);
  command.action(async (...given: unknown[]) => {
    const id = command.registeredArguments.length > 0 ? String(given[0]) : '';
    const options = command.opts<Options>();
    const target = requireTarget(command, body);
    const path = endpoint.path.replace(/\{\w+\}/, encodeURIComponent(id)) + searchOf(query, options, command);
    if (options.follow) return follow(target, noun, path, options);
    if (isList) return showList(target, noun, path, options);
    const content = body.length > 0 ? bodyOf(body, options, command) : undefined;
    await confirmEnding(endpoint, content, target, path, options);
    const document = await callApi<{ data: object } | undefined>(target, {
      method: endpoint.method,
      path,
      headers: {
        ...(endpoint.idempotent ? { 'idempotency-key': options.idempotencyKey ?? randomUUID() } : {}),
        ...(options.ifMatch ? { 'if-match': options.ifMatch } : {}),
      },
      ...(content ? { body: content } : {}),
    });
    print(options, document ?? { data: { id } }, () => (document ? dataText(noun, document.data) : `${id}: done`));
    if (document) requireSuccess(endpoint, document.data);
  });
}

/** Formats the `data` of a document. */
function dataText(noun: Noun, data: object): string {
  return Array.isArray(data) ? rowsText(noun, data) : oneText(noun, data);
}

/** The requests that end a webhook's queue: their effect, the deliveries' reason, and more to know. */
const confirmedTexts: Readonly<Record<string, readonly [does: string, reason: string, more: string]>> = {
  updateWebhook: ['disables', 'webhook_disabled', '`rms webhooks pause` keeps the queue instead.'],
  deleteWebhook: ['deletes', 'webhook_deleted', 'They cannot be redelivered.'],
};

/** Says how many deliveries a request fails if it disables or deletes the webhook at `path`, and asks on a terminal. */
async function confirmEnding(
  { operationId }: Endpoint,
  body: object | undefined,
  target: Profile,
  path: string,
  options: Options,
): Promise<void> {
  const texts = confirmedTexts[operationId];
  if (!texts || (body !== undefined && !('status' in body && body.status === 'disabled'))) return;
  const { data } = await callApi<{ data: Webhook }>(target, { method: 'get', path });
  if (body !== undefined && data.status === 'disabled') return;
  const [does, reason, more] = texts;
  await confirmConsequence(
    `This ${does} ${data.id} (${data.url}). Failing now: ${pendingText(data)} (${reason}). ${more}`,
    options,
  );
}

/** Throws if the API performed a test that failed. */
function requireSuccess({ operationId }: Endpoint, data: object): void {
  if (operationId === 'testWebhook') requireAccepted(data as TestAttempt);
  if (operationId === 'testAlertChannel') {
    const { delivered, error } = data as AlertChannelTest;
    if (!delivered) throw new Error(`The channel did not accept the message: ${error ?? 'no email was accepted'}.`);
  }
  if (operationId === 'testAlertRule') {
    const unsent = (data as AlertRuleTest).emails.filter(({ state }) => state !== 'sent');
    if (unsent.length > 0) throw new Error(`Not sent: ${unsent.map(({ address }) => address).join(', ')}.`);
  }
}

/**
 * Adds the options that select the installation and the key. A command with an equally named field (`--url` of a
 * webhook) has them only before its group: `rms --url … webhooks create --url …`.
 */
export function addTargetOptions(command: Command): void {
  for (const option of targetOptions()) {
    if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
  }
}

/** Returns the target for a command that works only with a key. Exits with a usage error without one. */
export function requireTarget(command: Command, inputs: readonly Input[] = []): Profile {
  const own = command.opts<TargetOptions>();
  const isField = inputs.some(({ field }) => field.name === 'url');
  const options = { ...rootOf(command).opts<TargetOptions>(), ...(isField ? { ...own, url: undefined } : own) };
  const target = targetOf(options);
  if (target) return target;
  return command.error('error: this command needs an API key: rms login, or RMS_URL and RMS_API_KEY');
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command;
}

async function showList(target: Profile, noun: Noun, path: string, options: Options): Promise<void> {
  const { document, more } = await takeList(target, path, options.limit ?? 100);
  print(options, document, () => rowsText(noun, document.data));
  if (more) note(`showing the first ${document.data.length}; --limit shows more`);
}

function followOption(): Option {
  const about = 'print requests as they are recorded, until Ctrl-C; --json prints one document per line';
  return new Option('--follow', about).conflicts(['limit', 'createdBefore']);
}

/** Prints new items of a list, one per line, until the user interrupts the command. */
async function follow(target: Profile, noun: Noun, path: string, options: Options): Promise<void> {
  const signal = untilInterrupted();
  try {
    for await (const one of followRequests(target, path, signal)) printLine(options, one, lineText(noun, one));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function inputOf(field: InputField): Input {
  return { field, option: optionOf(field) };
}

function optionOf({ name, description, choices, kind, isRequired }: InputField): Option {
  const about = `${startOf(description)}${isRequired ? ' (required)' : ''}`.trim();
  const flag = `--${name.replaceAll('_', '-')}`;
  if (kind === 'texts') {
    const option = new Option(`${flag} <value>`, `${about}${about ? '; ' : ''}repeatable`);
    if (choices) option.choices(choices);
    return option.argParser((value: string, all: readonly string[] = []) => collect(checked(value, choices), all));
  }
  if (kind === 'pairs') return new Option(`${flag} <key=value>`, `${about}; repeatable`).argParser(collectPair);
  if (kind === 'flag') return new Option(`${flag} [true|false]`, about).preset(true).argParser(jsonValue);
  if (kind === 'json') return new Option(`${flag} <json>`, about).argParser(jsonValue);
  if (kind === 'time') {
    const timeOf = /^(?:from|to)$|_(?:after|before)$/.test(name) ? pointInTime : futureTime;
    const isoOrNothing = (text: string) => (text === 'null' ? nothing : timeOf(text).toISOString());
    return new Option(`${flag} <time>`, `${about}; also a duration, e.g. 24h`).argParser(isoOrNothing);
  }
  const option = new Option(`${flag} <${choices ? 'value' : 'text'}>`, about);
  return choices ? option.choices(choices) : option;
}

function checked(value: string, choices: readonly string[] | undefined): string {
  if (choices && !choices.includes(value)) throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`);
  return value;
}

/** Adds "key=value" to the pairs. */
function collectPair(text: string, all: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const end = text.indexOf('=');
  if (end < 1) throw new InvalidArgumentError('Use key=value.');
  return new Map([...all, [text.slice(0, end), text.slice(end + 1)]]);
}

/** Parses a JSON value; null is `nothing`. Text that is not JSON is itself, so that a time and null need no quotes. */
function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text) ?? nothing;
  } catch {
    if (/^[[{"]/.test(text)) throw new InvalidArgumentError('This is not valid JSON.');
    return text;
  }
}

/** Returns the fields with a value. */
function valuesOf(inputs: readonly Input[], options: Options): [name: string, value: unknown][] {
  return inputs.flatMap(({ field, option }): [string, unknown][] => {
    const value = options[option.attributeName()];
    return value === undefined ? [] : [[field.name, value === nothing ? null : value]];
  });
}

/** Returns the query. Exits with a usage error if a required field is missing. */
function searchOf(inputs: readonly Input[], options: Options, command: Pick<Command, 'error'>): string {
  const pairs = new URLSearchParams();
  const values = valuesOf(inputs, options);
  requireFields(inputs, Object.fromEntries(values), command);
  for (const [name, value] of values) {
    if (value instanceof Map) for (const [key, one] of value) pairs.append(`${name}[${key}]`, one);
    else for (const one of [value].flat()) pairs.append(name, String(one));
  }
  return pairs.size === 0 ? '' : `?${pairs}`;
}

/** Returns the body. Exits with a usage error if a required field is missing. The API checks a body of --data. */
function bodyOf(inputs: readonly Input[], options: Options, command: Pick<Command, 'error'>): object {
  const body = { ...dataOf(options.data, command), ...Object.fromEntries(valuesOf(inputs, options)) };
  if (options.data === undefined) requireFields(inputs, body, command);
  return body;
}

function requireFields(inputs: readonly Input[], given: object, command: Pick<Command, 'error'>): void {
  const missing = inputs.find(({ field }) => field.isRequired && !(field.name in given));
  if (missing) command.error(`error: required option '${missing.option.long}' not specified`);
}

function dataOf(data: string | undefined, command: Pick<Command, 'error'>): object {
  if (data === undefined) return {};
  const text =
    data === '-' ? readFileSync(0, 'utf8') : data.startsWith('@') ? readFileSync(data.slice(1), 'utf8') : data;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {}
  return command.error('error: --data is not a JSON object');
}

/** Returns a description as commander shows it: without a capital at its start and without a period at its end. */
function startOf(text: string): string {
  const line = text.replaceAll('`', '').replace(/\.$/, '');
  return /^[A-Z][a-z]/.test(line) ? line.charAt(0).toLowerCase() + line.slice(1) : line;
}
