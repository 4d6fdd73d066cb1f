import type { Command } from 'commander';
import { secretsRotateCommand } from './secrets-rotate.ts';

export function define(secrets: Command): void {
  secrets.addCommand(secretsRotateCommand());
}
