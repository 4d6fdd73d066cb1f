import { type Command, Help, type Option } from 'commander';
import { readProfiles } from './with-key/profiles.ts';

/** A word that completes a command line. */
interface Candidate {
  readonly word: string;
  readonly about: string;
}

/**
 * Returns the words that complete the last word of a command line, which may be empty: commands, options, or values of
 * an option or argument. Empty if these can be any text.
 */
export function candidatesOf(program: Command, words: readonly string[]): Candidate[] {
  const begun = words.at(-1) ?? '';
  let command = program;
  let option: Option | undefined;
  let operands = 0;
  for (const word of words.slice(words[0] === 'help' ? 1 : 0, -1)) {
    if (option) option = undefined;
    else if (word.startsWith('-')) option = command.options.find(({ long, required }) => required && long === word);
    else {
      const inner = command.commands.find((one) => one.name() === word);
      if (inner) command = inner;
      else operands += 1;
    }
  }
  const possible = option
    ? valuesOf(option)
    : begun.startsWith('-')
      ? optionsOf(command)
      : operands === 0 && command.commands.length > 0
        ? commandsOf(command)
        : plain(command.registeredArguments[operands]?.argChoices);
  return possible.filter(({ word }) => word.startsWith(begun));
}

function commandsOf(command: Command): Candidate[] {
  return command.commands.map((inner) => ({ word: inner.name(), about: inner.description() }));
}

function optionsOf(command: Command): Candidate[] {
  const options = new Help().visibleOptions(command);
  return options.map(({ long, description }) => ({ word: long ?? '', about: description }));
}

function valuesOf({ long, argChoices }: Option): Candidate[] {
  return plain(long === '--profile' ? Object.keys(readProfiles()) : argChoices);
}

function plain(words: readonly string[] = []): Candidate[] {
  return words.map((word) => ({ word, about: '' }));
}
