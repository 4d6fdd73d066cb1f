import { PassThrough } from 'node:stream';
import { confirmByName } from '../src/confirm.ts';

const consequence = 'This deletes the workspace.';
const name = 'acme';
const usage = {
  error(message: string): never {
    throw new Error(message);
  },
};

/** A terminal on which the user types `typed`. */
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
