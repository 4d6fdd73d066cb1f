import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import {
  describeWith,
  freePort,
  perSuite,
  programEnv,
  suiteFolder,
  testDatabase,
  testServer,
  waitUntil,
} from '@rms/testkit';
import { type CodeBlock, codeBlocks } from '../../scripts/lib/code-blocks.mjs';

const root = join(import.meta.dirname, '..', '..');
const documents = [
  'README.md',
  'docs/installation.md',
  ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/installation.md', 'docs/site/**'] }).sort(),
];
const shellBlocks = (document: string) =>
  codeBlocks(readFileSync(join(root, document), 'utf8')).filter(({ language }) => language === 'sh');

/** Notes that documents may have on a block of commands. */
const notes = {
  notRun: /^not run by tests: /,
  keepsRunning: /^runs until stopped; ready after "(.+)"$/,
  after: /^after: (.+)$/,
};
const isRun = ({ note }: CodeBlock) => !notes.notRun.test(note);

test('every note on a block of commands is one that this test knows', () => {
  const unknown = documents.flatMap((document) =>
    shellBlocks(document)
      .filter(({ note }) => note !== '' && !Object.values(notes).some((known) => known.test(note)))
      .map(({ line, note }) => `${document}:${line}: ${note}`),
  );
  expect(unknown).toEqual([]);
});

describeWith(['redis', 'kafka'], 'the commands of README and docs, in order', () => {
  const folder = suiteFolder('commands');
  let env: NodeJS.ProcessEnv;
  /** Texts of the documents, with their replacements here: ports, stores, and the key that the first start printed. */
  const replaced = new Map<string, string>();
  const running = new Map<string, { child: ChildProcess; output: () => string }>();

  afterAll(() => stopAll());
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    const checkout = join(folder, 'rms');
    mkdirSync(checkout);
    for (const name of ['package.json', 'package-lock.json', 'node_modules', 'scripts', 'deploy', 'docs'])
      symlinkSync(join(root, name), join(checkout, name));
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'rms'), '#!/bin/sh\nexec npm run -s rms -- "$@"\n', { mode: 0o755 });
    // curl fails if a response reports an error.
    writeFileSync(join(folder, '.curlrc'), 'fail-with-body\n');
    const ports = { PORT: await freePort(), SANDBOX_PORT: await freePort(), DASHBOARD_PORT: await freePort() };
    env = programEnv({
      ...Object.fromEntries(Object.entries(ports).map(([name, value]) => [name, `${value}`])),
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      CURL_HOME: folder,
      DATA_DIR: join(folder, 'data'),
      KAFKA_PREFIX: `commands-${process.pid}`,
    });
    const addresses = [];
    for (const name of ['AUTH', 'RESOURCES', 'WEBHOOKS', 'ALERTS'])
      addresses.push(`${name}_ADDRESS=127.0.0.1:${await freePort()}`);
    replaced.set('npm run start:services', `${addresses.join(' ')} npm run start:services`);
    replaced.set('postgres://rms:rms@127.0.0.1:5432/rms', database.url);
    replaced.set('redis://127.0.0.1:6379', testServer('redis'));
    replaced.set('127.0.0.1:9092', testServer('kafka'));
    replaced.set('127.0.0.1:8080', `127.0.0.1:${ports.PORT}`);
    replaced.set('9000', `${await freePort()}`);
  });

  const stop = async (name: string) => {
    const { child } = running.get(name) ?? {};
    running.delete(name);
    if (!child?.pid || child.exitCode !== null) return;
    const ended = once(child, 'close');
    process.kill(-child.pid, 'SIGINT'); // As Ctrl-C does in a terminal.
    await ended;
  };
  const stopAll = async () => {
    for (const name of running.keys()) await stop(name);
  };

  /** Starts the commands in a shell that leads a process group. */
  const start = (code: string) => {
    let text = code;
    for (const [from, to] of replaced) text = text.replaceAll(from, to);
    const child = spawn('bash', ['-ec', text], { cwd: join(folder, 'rms'), env, detached: true });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    return { child, output: () => output };
  };
  const run = async (code: string) => {
    const { child, output } = start(code);
    await once(child, 'close');
    expect({ exitCode: child.exitCode, output: output() }).toMatchObject({ exitCode: 0 });
    return output();
  };

  /** Starts a program that keeps running, instead of the program that runs the same npm script. */
  const keepRunning = async (code: string, readyText: string) => {
    const name = /\bnpm (start|run start)/.test(code) ? 'service' : 'receiver';
    await stop(name);
    const program = start(code);
    running.set(name, program);
    const { child, output } = program;
    await waitUntil(
      () => {
        if (child.exitCode !== null) throw new Error(`exited with ${child.exitCode}: ${output()}`);
        return output().includes(readyText);
      },
      { what: `${readyText} of ${code}` },
    );
    return output();
  };

  const rounds = ['a new installation', 'the same installation'];
  describe.each(rounds)('on %s', () => {
    afterAll(stopAll);
    for (const document of documents) {
      for (const block of shellBlocks(document).filter(isRun)) {
        const { code, line, note } = block;
        const title = code.trim().split('\n').at(-1)?.slice(0, 60);
        test(`${document}:${line}: ${title}`, async () => {
          const readyText = notes.keepsRunning.exec(note)?.[1];
          const before = notes.after.exec(note)?.[1];
          if (before) await run(before);
          // KEY is the variable that one block of the tour sets and others use.
          const output = readyText ? await keepRunning(code, readyText) : await run(`${keyLine()}${code}`);
          const key = /sk_live_\w+/.exec(output)?.[0];
          if (key && !replaced.has('sk_live_…')) replaced.set('sk_live_…', key);
        });
      }
    }
  });
  const keyLine = () => (replaced.has('sk_live_…') ? 'KEY=sk_live_…\n' : '');
});
