import type { Command } from 'commander';
import { keysCreateCommand } from './keys-create.ts';
import { keysLeakedCommand } from './keys-leaked.ts';
import { keysListCommand } from './keys-list.ts';
import { keysRevokeCommand } from './keys-revoke.ts';
import { keysRollCommand } from './keys-roll.ts';
import { keysShowCommand } from './keys-show.ts';
import { keysUpdateCommand } from './keys-update.ts';

export function define(keys: Command): void {
  keys.addCommand(keysCreateCommand());
  keys.addCommand(keysListCommand());
  keys.addCommand(keysShowCommand());
  keys.addCommand(keysUpdateCommand());
  keys.addCommand(keysRollCommand());
  keys.addCommand(keysRevokeCommand());
  keys.addCommand(keysLeakedCommand());
}
