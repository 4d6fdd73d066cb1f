import type { Command } from 'commander';
import { deliveriesCancelCommand } from './deliveries-cancel.ts';
import { deliveriesCountCommand } from './deliveries-count.ts';
import { deliveriesListCommand } from './deliveries-list.ts';
import { deliveriesRedeliverCommand } from './deliveries-redeliver.ts';
import { deliveriesReplayCommand } from './deliveries-replay.ts';
import { deliveriesReplayCancelCommand, deliveriesReplayStatusCommand } from './deliveries-replay-status.ts';
import { deliveriesShowCommand } from './deliveries-show.ts';

export function define(deliveries: Command): void {
  deliveries.addCommand(deliveriesListCommand());
  deliveries.addCommand(deliveriesCountCommand());
  deliveries.addCommand(deliveriesShowCommand());
  deliveries.addCommand(deliveriesRedeliverCommand());
  deliveries.addCommand(deliveriesCancelCommand());
  deliveries.addCommand(deliveriesReplayCommand());
  deliveries.addCommand(deliveriesReplayStatusCommand());
  deliveries.addCommand(deliveriesReplayCancelCommand());
}
