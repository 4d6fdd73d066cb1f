import { createProgram, helpfulWords } from '../src/program.ts';
import { runRms } from './support.ts';

const wordsFor = async (...words: string[]) => helpfulWords(await createProgram(words), words);

describe('the command line', () => {
  test.each([
    [['keys', 'lsit'], /unknown command 'lsit'\n\(Did you mean list\?\)/],
    [['keys', 'lsit', '--help'], /unknown command 'lsit'\n\(Did you mean list\?\)/],
    [['help', 'deliveries', 'cuont'], /unknown command 'cuont'\n\(Did you mean count\?\)/],
    [['help', 'trece'], /unknown command 'trece'\n\(Did you mean trace\?\)/],
  ])('%j is an error with a suggestion', async (args, message) => {
    expect(await runRms(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });

  test.each([
    [['keys', 'create'], '(see rms keys create --help)'],
    [['trace'], '(see rms trace --help)'],
    [['webhooks', 'lsit'], '(see rms webhooks --help)'],
  ])('a usage error of %j names the help of the command', async (args, hint) => {
    expect(await runRms(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(hint) });
  });

  test.each([
    [['audit', '--actor', ''], "error: option '--actor <actor>' is empty; give a value or omit it"],
    [
      ['deliveries', 'list', '--workspace='],
      "error: option '--workspace <name-or-id>' is empty; give a value or omit it",
    ],
    [
      ['keys', 'create', '--environment', 'live', '--scope', 'read', '--name', 'ci', '--allow-ip', ''],
      "error: option '--allow-ip <cidr>' is empty; give a value or omit it",
    ],
    [['keys', 'show', ''], "error: argument 'id' is empty"],
    [['trace', ''], "error: argument 'request-id' is empty"],
    [['deliveries', 'list', '--test', '--no-test'], "error: option '--test' cannot be used with option '--no-test'"],
    [['deliveries', 'list', '--no-test', '--test'], "error: option '--test' cannot be used with option '--no-test'"],
    [['audit', '--since', '1h', '--until', '2h'], 'error: --since must be before --until'],
  ])('%j is a usage error', async (args, message) => {
    expect(await runRms(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  });

  test('help marks the options that cannot be omitted', async () => {
    const { stdout } = await runRms(['keys', 'create', '--help']);
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain('--name <name> name of the key (required)');
    expect(text).toContain('(choices: "read", "write", "admin", "restricted") (required)');
    expect(text).not.toMatch(/--expires-in [^-]*\(required\)/);
    expect(text).not.toContain('(default: [])');
  });

  test('--version prints the version', async () => {
    expect(await runRms(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  test('help of a subcommand shows the subcommand', async () => {
    expect(await wordsFor('help', 'webhooks', 'test')).toEqual(['webhooks', 'test', '--help']);
  });

  test.each([
    [['--help']],
    [['help']],
    [['help', 'keys']],
    [['keys', '--help']],
    [['keys', 'list', '--help']],
    [['keys', 'show', 'help']],
    [['trace', 'req_1']],
    [['help', 'trace']],
  ])('%j is not changed', async (words) => {
    expect(await wordsFor(...words)).toEqual(words);
  });
});
