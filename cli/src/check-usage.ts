import type { Command } from 'commander';

/**
 * Exits with a usage error if an option or argument of the command is empty (for example an unset variable of a shell),
 * if options conflict with each other in a way that commander does not report, or if --since is not before --until.
 */
export function checkUsage(command: Command, words: readonly string[]): void {
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if ([value].flat().includes('')) command.error(`error: option '${option.flags}' is empty; give a value or omit it`);
    const positive = option.negate ? option.long?.replace('--no-', '--') : undefined;
    if (positive !== undefined && words.includes(positive) && words.includes(option.long ?? '')) {
      command.error(`error: option '${positive}' cannot be used with option '${option.long}'`);
    }
  }
  for (const [i, argument] of command.registeredArguments.entries()) {
    if (command.args[i] === '') command.error(`error: argument '${argument.name()}' is empty`);
  }
  const { since, until } = command.opts<{ since?: unknown; until?: unknown }>();
  if (since instanceof Date && until instanceof Date && since >= until) {
    command.error('error: --since must be before --until');
  }
}
