import { spawn, spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { startReceiver, suiteFolder } from '@rms/testkit';
import { deliveryHeaders, makeSecret, toSigningSecret } from '../../../src/signature/signature.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..', '..');
const snippets = join(import.meta.dirname, '..', '..', '..', 'snippets');
const snippetOf = (file: string) => readFileSync(join(snippets, file), 'utf8');

/** A request to a receiver and the secrets that the receiver knows. */
interface Case {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secrets: readonly string[];
}

/** Cases by description. */
type Cases = Readonly<Record<string, Case>>;

/**
 * Per language: the snippet, and a program alongside it that reads an array of cases from standard input and prints an
 * array of verdicts. `build` compiles both.
 */
const languages = {
  Node: {
    snippet: 'verify.mjs',
    program: 'main.mjs',
    build: [],
    command: ['node', 'main.mjs'],
    text: `import { readFileSync } from 'node:fs';
import { verifySignature } from './verify.mjs';
const cases = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map((one) => verifySignature(one.headers, Buffer.from(one.body), one.secrets))));
`,
  },
  Python: {
    snippet: 'verify.py',
    program: 'main.py',
    build: [],
    command: ['python3', 'main.py'],
    text: `import json, sys
from verify import verify_signature
cases = json.loads(sys.stdin.buffer.read())
print(json.dumps([verify_signature(one["headers"], one["body"].encode(), one["secrets"]) for one in cases]))
`,
  },
  Go: {
    snippet: 'verify.go',
    program: 'main.go',
    build: ['go', 'build', '-o', 'verdicts', 'main.go', 'verify.go'],
    command: ['./verdicts'],
    text: `package main

import (
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	var cases []struct {
		Headers map[string]string
		Body    string
		Secrets []string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, one := range cases {
		headers := http.Header{}
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		verdicts = append(verdicts, verifySignature(headers, []byte(one.Body), one.Secrets))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}
`,
  },
  Java: {
    snippet: 'WebhookSignature.java',
    program: 'Main.java',
    build: ['javac', 'Main.java', 'WebhookSignature.java'],
    command: ['java', 'Main'],
    // The JDK has no JSON parser. Cases are lines of base64: body, secrets, then names and values of headers.
    text: `import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class Main {
    public static void main(String[] args) throws Exception {
        List<String> verdicts = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("cases.txt"))) {
            String[] parts = line.split("\\t", -1);
            for (int i = 0; i < parts.length; i++) parts[i] = new String(Base64.getDecoder().decode(parts[i]), UTF_16LE);
            List<String> secrets = parts[1].isEmpty() ? List.of() : Arrays.asList(parts[1].substring(1).split(",", -1));
            Map<String, String> headers = new HashMap<>();
            for (int i = 2; i < parts.length; i += 2) headers.put(parts[i], parts[i + 1]);
            verdicts.add(String.valueOf(WebhookSignature.verify(headers, parts[0].getBytes(UTF_8), secrets)));
        }
        System.out.println("[" + String.join(",", verdicts) + "]");
    }
}
`,
  },
} as const;
type Language = keyof typeof languages;

const probes = { Node: 'node --version', Python: 'python3 --version', Go: 'go version', Java: 'javac --version' };
const isInstalled = (language: Language) => spawnSync('sh', ['-c', probes[language]]).status === 0;
/** The installed languages; with CI=true all languages, so that a missing installation fails the test. */
const installed = (Object.keys(languages) as Language[]).filter(
  (language) => process.env.CI === 'true' || isInstalled(language),
);

const [oldSecret, newSecret, otherSecret] = [makeSecret(), makeSecret(), makeSecret()];
const body = '{"name":"Grüße 李"}';

function signed(current: string, previous?: string, nowMs = Date.now()) {
  const secrets = {
    current: toSigningSecret(current),
    previous: previous === undefined ? undefined : toSigningSecret(previous),
  };
  const content = { eventId: 'evt_1', requestId: 'req_1', traceparent: '', body: Buffer.from(body) };
  return deliveryHeaders(secrets, content, nowMs);
}

/**
 * Requests that the receiver must accept (`valid`) and reject (`invalid`). They are signed when the function is called,
 * because a receiver compares the timestamp with its clock.
 */
function makeCases(): Readonly<Record<'valid' | 'invalid', Cases>> {
  const rotated = signed(newSecret, oldSecret);
  const plain = signed(oldSecret);
  const signature = plain['webhook-signature'] ?? '';
  const withSignature = (text: string) => ({ ...plain, 'webhook-signature': text });
  const minutes = (count: number) => Date.now() + count * 60_000;

  const valid: Cases = {
    'a delivery': { headers: plain, body, secrets: [oldSecret] },
    'during a rotation, a receiver with the old secret': { headers: rotated, body, secrets: [oldSecret] },
    'during a rotation, a receiver with the new secret': { headers: rotated, body, secrets: [newSecret] },
    'during a rotation, a receiver with both secrets': { headers: rotated, body, secrets: [newSecret, oldSecret] },
    'before the rotation, a receiver with both secrets': { headers: plain, body, secrets: [newSecret, oldSecret] },
    'a signature of another version before it': {
      headers: withSignature(`v2,${'A'.repeat(43)}= ${signature}`),
      body,
      secrets: [oldSecret],
    },
    'a non-ASCII signature before it': {
      headers: withSignature(`v1,é\u{ff} ${signature}`),
      body,
      secrets: [oldSecret],
    },
    'an attempt four minutes ago': { headers: signed(oldSecret, undefined, minutes(-4)), body, secrets: [oldSecret] },
  };

  const { 'webhook-id': _id, ...withoutId } = plain;
  const { 'webhook-timestamp': _timestamp, ...withoutTimestamp } = plain;
  const { 'webhook-signature': _signature, ...withoutSignature } = plain;

  const invalid: Cases = {
    'a wrong secret': { headers: plain, body, secrets: [otherSecret] },
    'wrong secrets during a rotation': { headers: rotated, body, secrets: [otherSecret, makeSecret()] },
    'no secrets': { headers: plain, body, secrets: [] },
    'an empty secret, signed with an empty key': { headers: signed('whsec_'), body, secrets: ['', 'whsec_'] },
    'another body': { headers: plain, body: `${body} `, secrets: [oldSecret] },
    'another event ID': { headers: { ...plain, 'webhook-id': 'evt_2' }, body, secrets: [oldSecret] },
    'a timestamp six minutes ago': { headers: signed(oldSecret, undefined, minutes(-6)), body, secrets: [oldSecret] },
    'a timestamp in six minutes': { headers: signed(oldSecret, undefined, minutes(6)), body, secrets: [oldSecret] },
    'another timestamp': {
      headers: { ...plain, 'webhook-timestamp': String(Math.floor(minutes(-1) / 1_000)) },
      body,
      secrets: [oldSecret],
    },
    'X-Service-Signature alone': { headers: withoutSignature, body, secrets: [oldSecret] },
    'no event ID': { headers: withoutId, body, secrets: [oldSecret] },
    'no timestamp': { headers: withoutTimestamp, body, secrets: [oldSecret] },
    ...Object.fromEntries(
      ['', 'soon', 'NaN', '1e9', '-1', '٣', '9'.repeat(18), '9'.repeat(500), '\u{e9}', '\u{d800}'].map((timestamp) => [
        `the timestamp ${JSON.stringify(timestamp.slice(0, 20))} (${timestamp.length})`,
        { headers: { ...plain, 'webhook-timestamp': timestamp }, body, secrets: [oldSecret] },
      ]),
    ),
    ...Object.fromEntries(
      [
        '',
        'v1',
        'v1,',
        `${signature}A`,
        `${signature}=`,
        `${signature}é`,
        `${signature},`,
        `${signature}\u{1f600}`,
        ` ${signature}\t`,
        signature.slice(0, -1),
        signature.slice(0, -2),
        signature.slice('v1,'.length),
        signature.replace('v1,', 'v2,'),
        signature.replace('v1,', 'v1=').replaceAll('+', '-'),
        `v1,${Buffer.from(signature.slice('v1,'.length), 'base64').toString('hex')}`,
        `v1,${plain['x-service-signature']}`,
        'v1,not base64!',
        'v1,é\u{ff}李',
        'v1,\u{dcff}\u{d800}',
      ].map((text) => [
        `the signature ${JSON.stringify(text)}`,
        { headers: withSignature(text), body, secrets: [oldSecret] },
      ]),
    ),
    'a non-ASCII event ID': {
      headers: { ...plain, 'webhook-id': 'evt_é\u{dcff}\u{d800}' },
      body,
      secrets: [oldSecret],
    },
  };
  return { valid, invalid };
}

const folder = suiteFolder('snippets');

function lineOf({ headers, body, secrets }: Case): string {
  const parts = [body, secrets.map((secret) => `,${secret}`).join(''), ...Object.entries(headers).flat()];
  return `${parts.map((text) => Buffer.from(text, 'utf16le').toString('base64')).join('\t')}\n`;
}

function run([name = '', ...args]: readonly string[], input = ''): string {
  const { stdout, stderr, status } = spawnSync(name, args, { cwd: folder, input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${[name, ...args].join(' ')}: ${stderr}`);
  return stdout;
}

/** Builds the program with a language's snippet. */
function build(language: Language): void {
  const { snippet, program, build, text } = languages[language];
  cpSync(join(snippets, snippet), join(folder, snippet));
  writeFileSync(join(folder, program), text);
  if (build.length > 0) run(build);
}

/** Runs the built program against the cases; returns the verdict per description. */
function judge(language: Language, cases: Cases): Record<string, boolean> {
  writeFileSync(join(folder, 'cases.txt'), Object.values(cases).map(lineOf).join(''));
  const verdicts = JSON.parse(run(languages[language].command, JSON.stringify(Object.values(cases)))) as boolean[];
  return Object.fromEntries(Object.keys(cases).map((name, index) => [name, verdicts[index] ?? false]));
}

const all = (cases: Cases, verdict: boolean) => Object.fromEntries(Object.keys(cases).map((name) => [name, verdict]));

describe('verification snippets', () => {
  test.each(installed)('%s: accepts exactly the validly signed requests', (language) => {
    build(language);
    const { valid, invalid } = makeCases();
    expect(judge(language, { ...valid, ...invalid })).toEqual({ ...all(valid, true), ...all(invalid, false) });
  });

  test('curl: sends an event that the receiver accepts', async () => {
    const receiver = await startReceiver();
    const env = { ...process.env, WEBHOOK_SECRET: newSecret, ENDPOINT_URL: receiver.url };
    // Runs asynchronously: the endpoint is in this thread.
    const shell = spawn('sh', ['-e', join(snippets, 'send.sh')], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = new Promise((resolve) => shell.once('exit', resolve));
    const errors = textOf(shell.stderr);
    expect({ status: await ended, errors: await errors }).toEqual({ status: 0, errors: expect.any(String) });
    const [request] = receiver.requests;
    await receiver.close();
    const headers = (request?.headers ?? {}) as Record<string, string>;
    const sent = { headers, body: String(request?.body) };
    build('Node');
    expect(
      judge('Node', { sent: { ...sent, secrets: [newSecret] }, other: { ...sent, secrets: [oldSecret] } }),
    ).toEqual({ sent: true, other: false });
  });

  test('every document shows the tested code', () => {
    const files = globSync('**/*.*', { cwd: snippets });
    const tested = new Map(files.map((file) => [snippetOf(file), file] as const));
    const shown = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md'], { cwd: root }).flatMap((document) =>
      [...readFileSync(join(root, document), 'utf8').matchAll(/^( *)```\w*\n(.*?)^ *```$/gms)]
        .map(([, , code = '']) => code)
        .filter((code) => tested.has(code) || /hmac|standardwebhooks/i.test(code))
        .map((code) => `${document}: ${tested.get(code) ?? code}`),
    );
    expect(shown.sort()).toEqual(files.map((file) => `docs/webhook-receivers.md: ${file}`).sort());
  });
});
