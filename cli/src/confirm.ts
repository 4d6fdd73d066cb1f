import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { harmless } from './print.ts';

/** Object with a deletion that needs a confirmation. */
interface Confirmed {
  /** The consequence, as a sentence. */
  readonly consequence: string;
  readonly name: string;
  /** Value of --confirm. */
  readonly given: string | undefined;
}

/** Terminal of the user: stdin, and stderr, which stays separate from the result. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Returns if the user confirms by the object's name: with --confirm, otherwise by typing it. Throws for another
 * name. Exits with a usage error if --confirm is missing and there is no terminal.
 */
export async function confirmByName(
  { consequence, name, given }: Confirmed,
  command: Pick<Command, 'error'>,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (given === undefined && !input.isTTY) command.error('error: without a terminal, --confirm NAME is required');
  const typed = given ?? (await ask({ input, output }, `${consequence}\nType the name ("${name}") to confirm: `));
  if (typed !== name) throw new Error(`"${typed}" is not the name "${name}". Nothing was deleted.`);
}

/**
 * Shows a consequence, and asks for "y" on a terminal. Throws for another answer. Without a terminal or with --yes, the
 * command continues; with --json, it also shows nothing.
 */
export async function confirmConsequence(
  consequence: string,
  { yes = false, json = false }: { readonly yes?: boolean; readonly json?: boolean },
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (json) return;
  if (yes || !input.isTTY) {
    output.write(`rms: ${harmless(consequence)}\n`);
    return;
  }
  const typed = await ask({ input, output }, `${consequence}\nContinue? (y/N) `);
  if (!/^y(es)?$/i.test(typed.trim())) throw new Error('Nothing was changed.');
}

/** Returns the first line that the user types; '' if the input ends or is interrupted before it. */
async function ask({ input, output }: Terminal, question: string): Promise<string> {
  const lines = createInterface({ input, output, prompt: harmless(question) });
  try {
    return await new Promise<string>((resolve) => {
      lines.once('line', resolve).once('close', () => resolve(''));
      lines.prompt();
    });
  } finally {
    lines.close();
  }
}
