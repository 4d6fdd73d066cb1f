import { runRms } from './support.ts';

const withKey = { RMS_API_KEY: 'sk_test_x', RMS_URL: 'https://a.test', XDG_CONFIG_HOME: '/nonexistent' };

/** Returns the words that complete the last one of a command line. */
const complete = async (env: Readonly<Record<string, string>>, ...words: string[]) => {
  const { stdout } = await runRms(['complete', ...words], env);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0]);
};

describe('completion', () => {
  test.each([
    [['comp'], ['completion']],
    [
      ['alerts', ''],
      ['list', 'show', 'acknowledge', 'mute', 'rules', 'channels'],
    ],
    [['alerts', 'rules', 'u'], ['update']],
    [['help', 'alerts', 'm'], ['mute']],
    [['--url', 'alerts', 'alerts', 'channels', 'd'], ['delete']],
    [
      ['requests', 'list', '--method', 'P'],
      ['POST', 'PUT', 'PATCH'],
    ],
    [['requests', 'list', '--method', 'POST', '--fo'], ['--follow']],
    [
      ['keys', 'create', '--permissions', 'alerts:'],
      ['alerts:read', 'alerts:write'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['completion', 'zsh', ''], []],
    [['resources', 'show', ''], []],
    [['nothing', ''], []],
  ])('%j with a key: %j', async (words, expected) => {
    expect(await complete(withKey, ...words)).toEqual(expected);
  });

  test('without a key, the commands of the operator', async () => {
    expect(await complete({ XDG_CONFIG_HOME: '/nonexistent' }, 'keys', 'l')).toEqual(['list', 'leaked']);
  });

  test('an unknown shell is a usage error', async () => {
    expect(await runRms(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' });
  });
});
