import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, programEnv, startProgram, suiteFolder } from '@rms/testkit';
import { deliveryHeaders, makeSecret, toSigningSecret } from '../../../src/signature/signature.ts';

/** Installing and building the frameworks takes minutes on a busy machine. */
const maxBuildMs = 900_000;
const snippets = join(import.meta.dirname, '..', '..', '..', 'snippets');
const folder = suiteFolder('receivers');
const venv = join(folder, 'venv');

const npmPackages = ['express@5.3.0', 'next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1', 'standardwebhooks@1.1.1'];
const pythonPackages = ['fastapi==0.165.0', 'uvicorn==0.54.0', 'flask==3.1.3', 'standardwebhooks==1.1.0'];
const goModule = 'github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1';
const springBoot = '4.0.7';
const javaLibrary = '1.1.0';

const application = `
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;

@SpringBootApplication(scanBasePackages = "none")
@Import(WebhookController.class)
public class Application {
    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }
}
`;
const dependency = (group: string, artifact: string, version = '') =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>${version}</dependency>`;
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>${springBoot}</version></parent>
  <groupId>example</groupId><artifactId>receiver</artifactId><version>1</version>
  <properties><java.version>17</java.version></properties>
  <dependencies>
    ${dependency('org.springframework.boot', 'spring-boot-starter-web')}
    ${dependency('com.standardwebhooks', 'standardwebhooks', `<version>${javaLibrary}</version>`)}
  </dependencies>
  <build><plugins><plugin><groupId>org.springframework.boot</groupId><artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build>
</project>
`;

/** A framework: its receiver, the function that it calls, and the commands that build and run both in one folder. */
interface Framework {
  readonly receiver: string;
  readonly verify: 'verify.mjs' | 'verify.py' | 'verify.go' | 'WebhookSignature.java';
  /** Folder of the sources in the project. */
  readonly sources?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly build?: readonly (readonly string[])[];
  readonly command: (port: string) => readonly string[];
}

const packageJson = JSON.stringify({ private: true, type: 'module' });
const inVenv = (name: string) => join(venv, 'bin', name);
const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next');
const frameworks: Readonly<Record<string, Framework>> = {
  Express: {
    receiver: 'express.mjs',
    verify: 'verify.mjs',
    command: () => [process.execPath, 'express.mjs'],
  },
  'Next.js': {
    receiver: 'route.js',
    verify: 'verify.mjs',
    sources: 'app/webhooks',
    files: {
      'package.json': packageJson,
      'app/layout.js': 'export default ({ children }) => children;\n',
      'next.config.js': `export default { turbopack: { root: ${JSON.stringify(folder)} } };\n`,
    },
    build: [[process.execPath, next, 'build']],
    command: (port) => [process.execPath, next, 'start', '--hostname', '127.0.0.1', '--port', port],
  },
  FastAPI: {
    receiver: 'fastapi_app.py',
    verify: 'verify.py',
    command: (port) => [inVenv('uvicorn'), 'fastapi_app:app', '--port', port],
  },
  Flask: {
    receiver: 'flask_app.py',
    verify: 'verify.py',
    command: (port) => [inVenv('flask'), '--app', 'flask_app', 'run', '--port', port],
  },
  'Spring Boot': {
    receiver: 'WebhookController.java',
    verify: 'WebhookSignature.java',
    sources: 'src/main/java',
    files: { 'pom.xml': pom, 'src/main/java/Application.java': application },
    build: [['mvn', '-q', '-B', 'package']],
    command: (port) => ['java', '-jar', 'target/receiver-1.jar', `--server.port=${port}`, '--server.address=127.0.0.1'],
  },
  'net/http': {
    receiver: 'main.go',
    verify: 'verify.go',
    build: [
      ['go', 'mod', 'init', 'receiver'],
      ['go', 'get', goModule],
      ['go', 'build', '-o', 'receiver', '.'],
    ],
    command: () => ['./receiver'],
  },
};

const isInstalled = ({ verify }: Framework) => {
  const probe = {
    'verify.py': 'python3 --version',
    'verify.go': 'go version',
    'WebhookSignature.java': 'mvn --version',
  };
  return verify === 'verify.mjs' || spawnSync('sh', ['-c', probe[verify]]).status === 0;
};
/** The frameworks of installed languages; with CI=true all, so that a missing installation fails the test. */
const variants = Object.entries(frameworks)
  .filter(([, framework]) => process.env.CI === 'true' || isInstalled(framework))
  .flatMap(([name]) => [`${name}, by hand`, `${name}, with a library`]);

function run(cwd: string, [name = '', ...args]: readonly string[]): void {
  // With the user's settings of package managers.
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  const { status, stdout, stderr, error } = spawnSync(name, args, { cwd, encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${[name, ...args].join(' ')}: ${error?.message ?? stdout + stderr}`);
}

/** Writes a variant's project and builds it. Returns its folder. */
function build({ receiver, verify, sources = '.', files = {}, build = [] }: Framework, variant: string): string {
  const project = join(folder, variant.replaceAll(/\W+/g, '-'));
  mkdirSync(join(project, sources), { recursive: true });
  const from = variant.endsWith('library') ? join(snippets, 'library') : snippets;
  cpSync(join(from, verify), join(project, sources, verify));
  cpSync(join(snippets, receiver), join(project, sources, receiver));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  for (const command of build) run(project, command);
  return project;
}

const [secret, previousSecret, nextSecret, otherSecret] = [makeSecret(), makeSecret(), makeSecret(), makeSecret()];

/** Headers of a delivery that was signed now, or at another time. */
function signed(body: string, current: string, { previous = '', atMs = Date.now() } = {}): Record<string, string> {
  const secrets = {
    current: toSigningSecret(current),
    previous: previous === '' ? undefined : toSigningSecret(previous),
  };
  const content = { eventId: 'evt_1', requestId: 'req_1', traceparent: '', body: Buffer.from(body) };
  return { ...(deliveryHeaders(secrets, content, atMs) as Record<string, string>) };
}

describe('the receivers of the guide', () => {
  beforeAll(() => {
    writeFileSync(join(folder, 'package.json'), packageJson);
    run(folder, ['npm', 'install', '--no-audit', '--no-fund', '--silent', ...npmPackages]);
    if (!variants.some((variant) => variant.startsWith('Flask'))) return;
    run(folder, ['python3', '-m', 'venv', venv]);
    run(folder, [
      inVenv('python'),
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      ...pythonPackages,
    ]);
  }, maxBuildMs);

  test.each(variants)(
    '%s: accepts exactly the validly signed deliveries',
    async (variant) => {
      const framework = frameworks[variant.split(', ')[0] ?? ''] as Framework;
      const project = build(framework, variant);
      const port = String(await freePort());
      const [command = '', ...args] = framework.command(port);
      const url = `http://127.0.0.1:${port}/webhooks`;
      const program = await startProgram({
        name: variant,
        command,
        args,
        cwd: project,
        env: programEnv({ PORT: port, WEBHOOK_SECRETS: `${secret} ${previousSecret}`, NEXT_TELEMETRY_DISABLED: '1' }),
        outputFile: join(project, 'output.txt'),
        ready: () =>
          fetch(url).then(
            () => true,
            () => false,
          ),
      });
      const body = JSON.stringify({ id: 'evt_1', type: 'resource.created', data: { object: { name: 'Grüße 李' } } });
      const send = async (headers: Record<string, string>, sent = body) =>
        (await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: sent }))
          .status;
      const minutesAgo = (count: number) => ({ atMs: Date.now() - count * 60_000 });
      try {
        expect({
          valid: await send(signed(body, secret)),
          'signed before a rotation': await send(signed(body, previousSecret)),
          'signed with the next secret too': await send(signed(body, nextSecret, { previous: secret })),
          'four minutes ago': await send(signed(body, secret, minutesAgo(4))),
          large: await send(signed(body + ' '.repeat(300_000), secret), body + ' '.repeat(300_000)),
          tampered: await send(signed(body, secret), body.replace('created', 'deleted')),
          stale: await send(signed(body, secret, minutesAgo(6))),
          'another secret': await send(signed(body, otherSecret)),
          unsigned: await send({}),
        }).toEqual({
          ...{ valid: 200, 'signed before a rotation': 200, 'signed with the next secret too': 200 },
          ...{ 'four minutes ago': 200, large: 200, tampered: 401, stale: 401, 'another secret': 401, unsigned: 401 },
        });
      } finally {
        await program.terminate();
      }
    },
    maxBuildMs,
  );
});
