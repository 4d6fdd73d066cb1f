import type { Command } from 'commander';
import { deadLettersListCommand } from './dead-letters-list.ts';
import { deadLettersReplayCommand } from './dead-letters-replay.ts';

export function define(deadLetters: Command): void {
  deadLetters.addCommand(deadLettersListCommand());
  deadLetters.addCommand(deadLettersReplayCommand());
}
