import { PassThrough } from 'node:stream';
import { confirmByName, confirmConsequence } from '../src/confirm.ts';

const consequence = 'This deletes the workspace.';
const name = 'acme';
const usage = {
  error(message: string): never {
    throw new Error(message);
  },
};

/** A terminal with a user who types `typed`. */
function terminal(typed: string, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough().setEncoding('utf8');
  input.end(typed);
  return { input, output };
}

describe('the confirmation by name', () => {
  test('asks on the terminal, and accepts the name', async () => {
    const tty = terminal('acme\n');
    await confirmByName({ consequence, name, given: undefined }, usage, tty);
    expect(tty.output.read()).toContain(`${consequence}\nType the name ("acme") to confirm: `);
  });

  test.each(['other\n', '\n', 'y\n', ''])('typing %j deletes nothing', async (typed) => {
    const confirmed = confirmByName({ consequence, name, given: undefined }, usage, terminal(typed));
    await expect(confirmed).rejects.toThrow(`"${typed.trim()}" is not the name "acme". Nothing was deleted.`);
  });

  test('--confirm needs no terminal', async () => {
    const tty = terminal('', false);
    await confirmByName({ consequence, name, given: 'acme' }, usage, tty);
    await expect(confirmByName({ consequence, name, given: 'Acme' }, usage, tty)).rejects.toThrow(
      '"Acme" is not the name "acme"',
    );
    expect(tty.output.read()).toBeNull();
  });

  test('without a terminal, --confirm is required', async () => {
    const confirmed = confirmByName({ consequence, name, given: undefined }, usage, terminal('acme\n', false));
    await expect(confirmed).rejects.toThrow('without a terminal, --confirm NAME is required');
  });
});

describe('the confirmation of a consequence', () => {
  test.each(['y\n', 'Yes\n'])('continues after %j on the terminal', async (typed) => {
    const tty = terminal(typed);
    await confirmConsequence(consequence, {}, tty);
    expect(tty.output.read()).toContain(`${consequence}\nContinue? (y/N) `);
  });

  test.each(['n\n', '\n', 'yesterday\n', ''])('typing %j changes nothing', async (typed) => {
    await expect(confirmConsequence(consequence, {}, terminal(typed))).rejects.toThrow('Nothing was changed.');
  });

  test.each([
    ['without a terminal', {}, false],
    ['with --yes', { yes: true }, true],
  ])('%s, the consequence is shown without a question', async (_, options, isTTY) => {
    const tty = terminal('', isTTY);
    await confirmConsequence(consequence, options, tty);
    expect(tty.output.read()).toBe(`rms: ${consequence}\n`);
  });
});
