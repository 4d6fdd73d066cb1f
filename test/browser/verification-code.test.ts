import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWith, type ReceivedRequest, type Receiver, startReceiver } from '@rms/testkit';
import { Environment, openWorld, Role, type World } from './support.ts';

/** The whole service and a browser start meanwhile, beside another suite that does so. */
const startMs = 180_000;

/** How a program of each language has the code on the page judge what it reads, by the signature that it is given. */
const programs = {
  Node: {
    file: 'verify.mjs',
    command: ['node'],
    wrap: (code: string) =>
      `import { readFileSync } from 'node:fs';\n${code}\nconsole.log(isOurs(readFileSync(0), process.argv[2]));`,
  },
  Python: {
    file: 'verify.py',
    command: ['python3'],
    wrap: (code: string) => `import sys\n${code}\nprint(str(is_ours(sys.stdin.buffer.read(), sys.argv[1])).lower())`,
  },
  Go: {
    file: 'verify.go',
    command: ['go', 'run'],
    wrap: (code: string) =>
      `package main\n\nimport (\n\t"fmt"\n\t"io"\n)\n\n${code}\n\nfunc main() {\n\tbody, _ := io.ReadAll(os.Stdin)\n\tfmt.Println(isOurs(body, os.Args[1]))\n}\n`,
  },
} as const;
type Language = keyof typeof programs;

const isHere = ([program = '']: readonly string[]) =>
  spawnSync(program, [program === 'go' ? 'version' : '--version']).status === 0;
/** Those that are here; in CI all, and a missing one fails. */
const languages = (Object.keys(programs) as Language[]).filter(
  (language) => process.env.CI === 'true' || isHere(programs[language].command),
);

describeWith('chromium', 'The verification code on the page', () => {
  let world: World;
  let receiver: Receiver;
  let secret: string;
  let delivery: ReceivedRequest;
  const codes = new Map<string, string>();
  const folder = mkdtempSync(join(tmpdir(), 'rms-verification-'));

  beforeAll(async () => {
    world = await openWorld();
    receiver = await startReceiver();
    const page = await world.open(await world.person('owner', Role.OWNER));
    await page.goto(`/w/${world.workspaceId}/live/webhooks/new`);
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'Copy secret' }).click();
    secret = await page.evaluate<string>('navigator.clipboard.readText()');
    for (const language of ['curl', 'Node', 'Python', 'Go']) {
      await page.getByRole('tab', { name: language }).click();
      const block = page.getByRole('group', { name: `Verification in ${language}` });
      await block.getByRole('button', { name: 'Copy' }).click();
      codes.set(language, await page.evaluate<string>('navigator.clipboard.readText()'));
    }
    const answer = await fetch(`${world.standalone.liveUrl}/v1/resources`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${await world.key(Environment.LIVE)}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ name: 'Grüße 李' }),
    });
    expect(answer.status).toBe(201);
    delivery = await receiver.waitFor(() => true, 'the delivery');
  }, startMs);
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await receiver?.close();
    await world?.stop();
  });

  /** What the code says: "true" or "false". */
  const judge = (language: Language, body: Buffer, signature: string, key = secret) => {
    const { file, command, wrap } = programs[language];
    const path = join(folder, file);
    writeFileSync(path, wrap(codes.get(language) ?? ''));
    const [program = '', ...args] = [...command, path, signature];
    const env = { ...process.env, WEBHOOK_SECRET: key, GOFLAGS: '-mod=mod', GOCACHE: join(folder, 'go') };
    const { stdout, stderr } = spawnSync(program, args, { input: body, env, encoding: 'utf8' });
    return stdout.trim() || stderr;
  };
  const signatureOf = ({ headers }: ReceivedRequest) => String(headers['x-service-signature']);

  test.each(languages)(
    '%s: takes what was delivered, and nothing else',
    (language) => {
      const { body } = delivery;
      const signature = signatureOf(delivery);
      expect(judge(language, body, signature)).toBe('true');
      expect(judge(language, Buffer.concat([body, Buffer.from(' ')]), signature)).toBe('false');
      expect(judge(language, body, signature, `${secret}x`)).toBe('false');
      expect(judge(language, body, 'not hex')).toBe('false');
    },
    120_000,
  );

  test('curl: sends what the other languages take', async () => {
    const before = receiver.requests.length;
    const env = { ...process.env, WEBHOOK_SECRET: secret, ENDPOINT_URL: receiver.url };
    // Not waited for in this thread: the endpoint is in it.
    const shell = spawn('sh', ['-c', codes.get('curl') ?? ''], { env, stdio: 'ignore' });
    const ended = new Promise((resolve) => shell.once('exit', resolve));
    const sent = await receiver.waitFor((request) => receiver.requests.indexOf(request) >= before, 'the test body');
    expect(await ended).toBe(0);
    expect(judge('Node', sent.body, signatureOf(sent))).toBe('true');
  });
});
