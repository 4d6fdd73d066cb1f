import { runRms } from './support.ts';

/** Module for `node --import` that prints the URL of each module to stderr when the process exits. */
const recorder = `
  import { registerHooks } from 'node:module';
  const urls = [];
  registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
  process.on('exit', () => process.stderr.write(urls.join('\\n') + '\\n'));`;

/** Runs `rms` and returns the paths of its loaded modules, relative to the repository. */
async function modulesOf(...args: string[]): Promise<string[]> {
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(recorder)}`,
    // Nothing listens there.
    AUTH_ADDRESS: '127.0.0.1:1',
  };
  const { stderr } = await runRms(args, env);
  const root = new URL('../../', import.meta.url).href;
  return stderr.split('\n').flatMap((line) => (line.startsWith(root) ? line.slice(root.length) : []));
}

describe('rms loads only the modules that the command line requires', () => {
  const rpc = /^packages\/rpc\/src\/client|grpc-js|^packages\/proto\/.*_service_pb/;
  const commandsIn = (modules: readonly string[]) => modules.filter((path) => path.startsWith('cli/src/commands/'));

  test('its help loads no command', async () => {
    const modules = await modulesOf('--help');
    expect(modules).toContain('cli/src/program.ts');
    expect(commandsIn(modules)).toEqual([]);
    expect(modules.filter((path) => rpc.test(path))).toEqual([]);
  });

  test.each([
    ['help of a group', ['plans', '--help']],
    ['help of a group by name', ['help', 'plans']],
    ['usage error', ['plans', 'set']],
  ])('%s: loads the commands of the group, and no RPC library', async (_, args) => {
    const modules = await modulesOf(...args);
    expect(commandsIn(modules).sort()).toEqual(
      ['plans-delete', 'plans-list', 'plans-set', 'plans'].map((name) => `cli/src/commands/${name}.ts`),
    );
    expect(modules.filter((path) => rpc.test(path))).toEqual([]);
  });

  test('a command loads the definitions of the services that it calls', async () => {
    const modules = await modulesOf('plans', 'list');
    const definitions = modules.filter((path) => /_service_pb/.test(path));
    expect(definitions).toEqual([expect.stringContaining('rms/auth/v1/plans_service_pb')]);
  });
});
