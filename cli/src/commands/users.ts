import type { Command } from 'commander';
import { usersCreateCommand } from './users-create.ts';
import { usersDeleteCommand } from './users-delete.ts';
import { usersDisableCommand, usersEnableCommand } from './users-disable.ts';
import { usersListCommand } from './users-list.ts';
import { usersRemoveCommand } from './users-remove.ts';
import { usersResetCommand } from './users-reset.ts';
import { usersShowCommand } from './users-show.ts';
import { usersUnlinkCommand } from './users-unlink.ts';

export function define(users: Command): void {
  users.addCommand(usersCreateCommand());
  users.addCommand(usersListCommand());
  users.addCommand(usersShowCommand());
  users.addCommand(usersResetCommand());
  users.addCommand(usersDisableCommand());
  users.addCommand(usersEnableCommand());
  users.addCommand(usersRemoveCommand());
  users.addCommand(usersDeleteCommand());
  users.addCommand(usersUnlinkCommand());
}
