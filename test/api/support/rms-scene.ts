import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { callApi, perSuite, programEnv, type Standalone, startCommands, suiteFolder } from '@rms/testkit';

const main = join(import.meta.dirname, '..', '..', '..', 'cli', 'src', 'main.ts');

export type RmsScene = ReturnType<typeof rmsScene>;

/** Declares the hooks of a suite that runs `rms` with an API key, where it knows only the address of the API. */
export function rmsScene(startService: () => Promise<Standalone>) {
  let service: Standalone;
  const folder = suiteFolder('with-key');
  let key: string;
  afterAll(() => service?.stop());
  const commands = perSuite(startCommands);
  beforeAll(async () => {
    service = await startService();
    key = (await newKey('admin')).key;
  }, 120_000);

  const newKey = (scope: string) =>
    service.rms<{ key: string }>('keys', 'create', '--environment', 'sandbox', '--scope', scope, '--name', scope);
  const envOf = (more: Readonly<Record<string, string>> = {}) =>
    programEnv({ XDG_CONFIG_HOME: folder, RMS_URL: service.sandboxUrl, RMS_API_KEY: key, ...more });
  const run = (args: readonly string[], more?: Readonly<Record<string, string>>) => commands.run(args, envOf(more));
  /** Runs a command with --json and returns its document. */
  const json = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await run([...args, '--json']);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as T;
  };
  const one = async <T>(...args: string[]) => (await json<{ data: T }>(...args)).data;
  /** Returns the API's own document. */
  const fromApi = async (path: string) => (await callApi<object>('GET', service.sandboxUrl + path, key)).body;

  /** Starts `rms` as a separate process. */
  const start = (args: readonly string[], more?: Readonly<Record<string, string>>) => {
    const child = spawn(process.execPath, [main, ...args], { env: envOf(more) });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const closed = once(child, 'close') as Promise<[number | null]>;
    return {
      output: () => output,
      ended: async () => (await closed)[0],
      interrupt: async () => {
        child.kill('SIGINT');
        return (await closed)[0];
      },
    };
  };

  return {
    folder,
    newKey,
    run,
    json,
    one,
    fromApi,
    start,
    get service() {
      return service;
    },
    get key() {
      return key;
    },
  };
}
