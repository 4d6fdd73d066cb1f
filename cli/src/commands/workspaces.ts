import type { Command } from 'commander';
import { workspacesCreateCommand } from './workspaces-create.ts';
import { workspacesDeleteCommand } from './workspaces-delete.ts';
import { workspacesListCommand } from './workspaces-list.ts';
import { workspacesPlanCommand } from './workspaces-plan.ts';

export function define(workspaces: Command): void {
  workspaces.addCommand(workspacesCreateCommand());
  workspaces.addCommand(workspacesListCommand());
  workspaces.addCommand(workspacesPlanCommand());
  workspaces.addCommand(workspacesDeleteCommand());
}
