import { Command } from 'commander';
import { alertsListCommand } from './commands/alerts-list.ts';
import { alertsRulesCommand } from './commands/alerts-rules.ts';
import { alertsTestCommand } from './commands/alerts-test.ts';
import { auditCommand } from './commands/audit.ts';
import { certificatesRemoveCommand, certificatesRenewCommand } from './commands/certificates.ts';
import { configCommand } from './commands/config.ts';
import { deliveriesListCommand } from './commands/deliveries-list.ts';
import { deliveriesRedeliverCommand } from './commands/deliveries-redeliver.ts';
import { deliveriesReplayCommand } from './commands/deliveries-replay.ts';
import { deliveriesReplayCancelCommand, deliveriesReplayStatusCommand } from './commands/deliveries-replay-status.ts';
import { deliveriesShowCommand } from './commands/deliveries-show.ts';
import { keysCreateCommand } from './commands/keys-create.ts';
import { keysLeakedCommand } from './commands/keys-leaked.ts';
import { keysListCommand } from './commands/keys-list.ts';
import { keysRevokeCommand } from './commands/keys-revoke.ts';
import { keysRollCommand } from './commands/keys-roll.ts';
import { keysShowCommand } from './commands/keys-show.ts';
import { keysUpdateCommand } from './commands/keys-update.ts';
import { listenCommand } from './commands/listen.ts';
import { migrateCommand } from './commands/migrate.ts';
import { plansListCommand } from './commands/plans-list.ts';
import { plansSetCommand } from './commands/plans-set.ts';
import { secretsRotateCommand } from './commands/secrets-rotate.ts';
import { traceCommand } from './commands/trace.ts';
import { usersCreateCommand } from './commands/users-create.ts';
import { usersDeleteCommand } from './commands/users-delete.ts';
import { usersDisableCommand, usersEnableCommand } from './commands/users-disable.ts';
import { usersListCommand } from './commands/users-list.ts';
import { usersResetCommand } from './commands/users-reset.ts';
import { webhooksClientCertificateCommand } from './commands/webhooks-client-certificate.ts';
import { webhooksDisableCommand, webhooksEnableCommand } from './commands/webhooks-enable.ts';
import { webhooksListCommand } from './commands/webhooks-list.ts';
import { webhooksOrderedCommand } from './commands/webhooks-ordered.ts';
import { webhooksRetryPolicyCommand } from './commands/webhooks-retry-policy.ts';
import { webhooksRotateSecretCommand } from './commands/webhooks-rotate-secret.ts';
import { webhooksShowCommand } from './commands/webhooks-show.ts';
import { webhooksTestCommand } from './commands/webhooks-test.ts';
import { workspacesCreateCommand } from './commands/workspaces-create.ts';
import { workspacesListCommand } from './commands/workspaces-list.ts';
import { workspacesPlanCommand } from './commands/workspaces-plan.ts';

/** The rms command. Every subcommand has --json: one JSON document on stdout (listen: one an event), and nothing else there. */
export function createProgram(): Command {
  const program = new Command('rms')
    .description('Manages keys, people, plans, webhooks and deliveries of a running service.')
    .exitOverride()
    .showHelpAfterError('(rms --help shows how)');
  group(program, 'keys', 'API keys', [
    keysCreateCommand,
    keysListCommand,
    keysShowCommand,
    keysUpdateCommand,
    keysRollCommand,
    keysRevokeCommand,
    keysLeakedCommand,
  ]);
  group(program, 'webhooks', 'webhook subscriptions', [
    webhooksListCommand,
    webhooksShowCommand,
    webhooksRetryPolicyCommand,
    webhooksOrderedCommand,
    webhooksClientCertificateCommand,
    webhooksRotateSecretCommand,
    webhooksEnableCommand,
    webhooksDisableCommand,
    webhooksTestCommand,
  ]);
  group(program, 'deliveries', 'the delivery log', [
    deliveriesListCommand,
    deliveriesShowCommand,
    deliveriesRedeliverCommand,
    deliveriesReplayCommand,
    deliveriesReplayStatusCommand,
    deliveriesReplayCancelCommand,
  ]);
  group(program, 'alerts', 'what was wrong, and whom it is mailed to', [
    alertsListCommand,
    alertsRulesCommand,
    alertsTestCommand,
  ]);
  group(program, 'workspaces', 'accounts', [workspacesCreateCommand, workspacesListCommand, workspacesPlanCommand]);
  group(program, 'users', 'people who sign in to the dashboard', [
    usersCreateCommand,
    usersListCommand,
    usersResetCommand,
    usersDisableCommand,
    usersEnableCommand,
    usersDeleteCommand,
  ]);
  group(program, 'plans', 'limits under a name', [plansSetCommand, plansListCommand]);
  group(program, 'secrets', 'what is encrypted at rest', [secretsRotateCommand]);
  group(program, 'certificates', 'mutual TLS between services', [certificatesRenewCommand, certificatesRemoveCommand]);
  for (const make of [listenCommand, traceCommand, auditCommand, migrateCommand, configCommand])
    program.addCommand(withJson(program, make()));
  return program;
}

function group(program: Command, name: string, about: string, commands: readonly (() => Command)[]): void {
  const parent = new Command(name).description(about).copyInheritedSettings(program);
  for (const make of commands) parent.addCommand(withJson(program, make()));
  program.addCommand(parent);
}

/** A command that does something; a group must not have the option, for it would take it from its subcommands. */
function withJson(program: Command, command: Command): Command {
  command.copyInheritedSettings(program);
  const hasJson = command.options.some(({ long }) => long === '--json');
  return hasJson ? command : command.option('--json', 'print one JSON document');
}
