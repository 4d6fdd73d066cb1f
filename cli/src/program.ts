import { Argument, Command, Help, type Option } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { checkUsage } from './check-usage.ts';
import type { Noun } from './with-key/documents.ts';
import { hasKey, targetOptions } from './with-key/target.ts';

/** Loads a module that adds options and an action, or subcommands. */
type Load = () => Promise<{ define(command: Command): void }>;

/** Command with a module that is loaded only if the command line contains it. The help of `rms` needs no module. */
interface Entry {
  readonly name: string;
  readonly about: string;
  readonly argument?: Argument;
  /** For the operator of an installation. Missing: the command needs an API key. */
  readonly load?: Load;
  /** With an API key. */
  readonly withKey?: Load;
}

/** Loads the commands of all operations of the API on a noun, and groups of those on other nouns. */
const operationsOn =
  (noun: Noun, groups: readonly { name: string; about: string; noun: Noun }[] = []): Load =>
  async () => {
    const { defineOperations } = await import('./with-key/operations.ts');
    return {
      define(group) {
        defineOperations(group, noun);
        for (const { name, about, noun } of groups) {
          const inner = new Command(name).description(about);
          defineOperations(inner, noun);
          group.addCommand(inner);
        }
      },
    };
  };

/** Loads a command that is one operation of the API. */
const operation =
  (noun: Noun, name: 'list' | 'show' | 'create'): Load =>
  async () => {
    const { defineOperation } = await import('./with-key/operations.ts');
    return { define: (command) => defineOperation(command, noun, name) };
  };

/** Whether this is the command of a checkout or an image, not of the npm package or the executable. */
const isInstallation = import.meta.url.endsWith('.ts');

const groups: readonly Entry[] = [
  { name: 'resources', about: 'manage resources', withKey: operationsOn('resources') },
  { name: 'events', about: 'show the event feed', withKey: operationsOn('events') },
  { name: 'keys', about: 'manage API keys', withKey: operationsOn('keys'), load: () => import('./commands/keys.ts') },
  {
    name: 'webhooks',
    about: 'manage webhook subscriptions',
    withKey: operationsOn('webhooks'),
    load: () => import('./commands/webhooks.ts'),
  },
  {
    name: 'deliveries',
    about: 'inspect and redeliver deliveries',
    withKey: operationsOn('deliveries'),
    load: () => import('./commands/deliveries.ts'),
  },
  { name: 'replays', about: 'redeliver many deliveries', withKey: operationsOn('replays') },
  { name: 'requests', about: 'show the request log', withKey: operationsOn('requests') },
  { name: 'metrics', about: 'show numbers of requests and deliveries over time', withKey: operationsOn('metrics') },
  {
    name: 'dead-letters',
    about: 'show records that could not be stored as events, and store them again',
    load: () => import('./commands/dead-letters.ts'),
  },
  {
    name: 'alerts',
    about: 'show, acknowledge and mute incidents; manage alert rules and channels',
    withKey: operationsOn('incidents', [
      { name: 'rules', about: 'show, change and test alert rules', noun: 'alert-rules' },
      { name: 'channels', about: 'manage destinations of alerts', noun: 'alert-channels' },
    ]),
    load: () => import('./commands/alerts.ts'),
  },
  { name: 'members', about: 'manage members of the workspace', withKey: operationsOn('members') },
  { name: 'invitations', about: 'manage invitations to the workspace', withKey: operationsOn('invitations') },
  { name: 'workspaces', about: 'manage workspaces', load: () => import('./commands/workspaces.ts') },
  { name: 'users', about: 'manage dashboard users', load: () => import('./commands/users.ts') },
  { name: 'plans', about: 'manage plans (named sets of limits)', load: () => import('./commands/plans.ts') },
  { name: 'secrets', about: 'manage encryption at rest', load: () => import('./commands/secrets.ts') },
  {
    name: 'certificates',
    about: 'manage certificates for mutual TLS between services',
    load: () => import('./commands/certificates.ts'),
  },
];

const commands: readonly Entry[] = [
  { name: 'login', about: 'store an API key for later commands', withKey: () => import('./commands/login.ts') },
  { name: 'logout', about: 'remove a stored API key', withKey: () => import('./commands/logout.ts') },
  {
    name: 'completion',
    about: 'print a script with which a shell completes commands',
    argument: new Argument('<shell>').choices(['bash', 'zsh', 'fish']),
    withKey: () => import('./commands/completion.ts'),
  },
  {
    name: 'workspace',
    about: 'show the workspace of the API key, its limits and usage',
    withKey: operation('workspace', 'list'),
  },
  {
    name: 'portal',
    about: 'create a link to the webhook pages, for a user without an account',
    withKey: operation('portal', 'create'),
  },
  {
    name: 'trigger',
    about: 'create, change and delete a sample resource, which causes every type of event about resources',
    withKey: () => import('./commands/trigger.ts'),
  },
  {
    name: 'listen',
    about: 'forward events to a URL as they happen, signed like deliveries, for development',
    load: () => import('./commands/listen.ts'),
    withKey: async () => ({ define: (await import('./commands/listen.ts')).defineWithKey }),
  },
  {
    name: 'trace',
    about: 'show the response, events and deliveries of a request',
    argument: new Argument('<request-id>', 'X-Request-ID of the request'),
    load: () => import('./commands/trace.ts'),
    withKey: operation('requests', 'show'),
  },
  {
    name: 'audit',
    about: 'show the audit log, newest first',
    withKey: operation('audit', 'list'),
    load: () => import('./commands/audit.ts'),
  },
  // The migrations are part of an installation, in its version.
  ...(isInstallation
    ? [
        {
          name: 'migrate',
          about: 'migrate the database of DATABASE_URL (npm start migrates automatically)',
          load: () => import('./commands/migrate.ts'),
        },
      ]
    : []),
  {
    name: 'config',
    about: 'show all settings with their values and sources; secrets are hidden',
    load: () => import('./commands/config.ts'),
  },
];

/**
 * Creates the `rms` command for a command line. Every subcommand supports --json: one JSON document on stdout
 * (`listen`: one per event) and nothing else.
 */
export async function createProgram(words: readonly string[]): Promise<Command> {
  const program = new Command('rms')
    .description(
      'Calls the API with a key (rms login, or RMS_URL and RMS_API_KEY), or manages a running installation as its operator.',
    )
    .version(manifest.version, '--version', 'print the version of this command')
    .exitOverride()
    .configureHelp({ optionDescription })
    .hook('preAction', (_, command) => checkUsage(command, words))
    .showHelpAfterError('(see rms --help)')
    .enablePositionalOptions();
  for (const option of targetOptions()) program.addOption(option);
  const create = async (entry: Entry) => {
    const { name, about, argument } = entry;
    const command = inherit(new Command(name).description(about), program, `rms ${name}`);
    command.helpGroup(entry.withKey ? headings.withKey : headings.operator);
    if (argument) command.addArgument(argument);
    if (words.includes(name)) (await loadOf(entry, words)?.())?.define(command);
    return command;
  };
  for (const entry of groups) {
    const group = await create(entry);
    for (const command of group.commands) complete(command, program, `rms ${group.name()}`);
    program.addCommand(group);
  }
  for (const entry of commands) program.addCommand(withJson(await create(entry)));
  return program;
}

/** Headings of the list of commands. */
const headings = {
  withKey: 'With an API key (those for keys, webhooks, deliveries, alerts, listen, trace and audit also without one):',
  operator: 'On the machine of an installation, as its operator:',
};

/**
 * Returns the commands that a command line loads: the API's operations if there is a key, otherwise the installation's.
 */
function loadOf({ load, withKey }: Entry, words: readonly string[]): Load | undefined {
  return withKey && (!load || hasKey(words)) ? withKey : load;
}

/** Applies the settings of `program` to a command of the group `words` and to its subcommands, and adds --json. */
function complete(command: Command, program: Command, words: string): void {
  const own = `${words} ${command.name()}`;
  inherit(command, program, own);
  for (const inner of command.commands) complete(inner, program, own);
  if (command.commands.length === 0) withJson(command);
}

/** Applies the settings of `program` to a command. After a usage error, the command points to its own help. */
function inherit(command: Command, program: Command, words: string): Command {
  return command.copyInheritedSettings(program).showHelpAfterError(`(see ${words} --help)`);
}

/** Returns the description of an option in a help text. Options that cannot be omitted are marked. */
function optionDescription(option: Option): string {
  const description = new Help().optionDescription(option);
  return option.mandatory && option.defaultValue === undefined ? `${description} (required)` : description;
}

/**
 * Returns a command line that makes commander show the right help. Without this, `help` of a subcommand shows the help
 * of its group, even if the subcommand does not exist. An unknown command is an error with a suggestion, as without
 * `help` and --help.
 */
export function helpfulWords(program: Command, words: readonly string[]): readonly string[] {
  const names = words.filter((word) => word !== 'help' && word !== '--help' && word !== '-h');
  const { command, depth } = commandOf(program, names);
  const next = names[depth];
  const isUnknown = command.commands.length > 0 && next !== undefined && !next.startsWith('-');
  if (isUnknown) return names.slice(0, depth + 1);
  return words[0] === 'help' && depth > 1 ? [...names.slice(0, depth), '--help'] : words;
}

/** Returns the command that the first words name, and how many words that are. */
function commandOf(program: Command, words: readonly string[]): { command: Command; depth: number } {
  let command = program;
  let depth = 0;
  for (const word of words) {
    const inner = command.commands.find((one) => one.name() === word);
    if (!inner) break;
    command = inner;
    depth += 1;
  }
  return { command, depth };
}

/**
 * Adds --json to a leaf command. A group must not have this option, because it would consume the option before its
 * subcommand.
 */
function withJson(command: Command): Command {
  const hasJson = command.options.some(({ long }) => long === '--json');
  return hasJson ? command : command.option('--json', 'print the result as one JSON document');
}
