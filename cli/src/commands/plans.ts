import type { Command } from 'commander';
import { plansDeleteCommand } from './plans-delete.ts';
import { plansListCommand } from './plans-list.ts';
import { plansSetCommand } from './plans-set.ts';

export function define(plans: Command): void {
  plans.addCommand(plansSetCommand());
  plans.addCommand(plansListCommand());
  plans.addCommand(plansDeleteCommand());
}
