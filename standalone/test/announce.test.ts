import { execFileSync } from 'node:child_process';
import { announcement } from '../src/announce.ts';

const running = {
  liveUrl: 'http://127.0.0.1:8080',
  sandboxUrl: 'http://127.0.0.1:8081',
  dashboardUrl: 'http://127.0.0.1:8090',
  dataDir: '/srv/rms/.data',
  postgres: 'embedded',
  keys: { live: 'sk_live_aaa', sandbox: 'sk_test_bbb' },
  login: { email: 'owner@localhost', password: 'abcde-fghjk' },
} as const;

describe('The startup message of npm start', () => {
  test('shows addresses, both keys, the login and example commands on the first start', () => {
    const text = announcement(running);
    for (const part of [
      running.liveUrl,
      running.sandboxUrl,
      running.dashboardUrl,
      `${running.liveUrl}/docs`,
      running.dataDir,
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/live +sk_live_aaa/);
    expect(text).toMatch(/sandbox +sk_test_bbb/);
    expect(text).toMatch(/email +owner@localhost/);
    expect(text).toMatch(/password +abcde-fghjk\n$/);
  });

  test('contains commands that work when pasted into a shell', () => {
    const [, commands = ''] = announcement(running).split('in another terminal:\n');
    const [pasted = ''] = commands.split('Press Ctrl-C');
    // Prints the arguments of curl, one per line.
    const script = `curl() { printf '%s\\n' "$@" --; }\n${pasted}`;
    const calls = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n--\n').slice(0, -1);
    const [create, list] = calls.map((call) => call.split('\n'));
    expect(create).toEqual([
      '-s',
      'http://127.0.0.1:8080/v1/resources',
      '-H',
      'Authorization: Bearer sk_live_aaa',
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"name": "My first resource"}',
    ]);
    expect(list).toEqual(['-s', 'http://127.0.0.1:8080/v1/resources', '-H', 'Authorization: Bearer sk_live_aaa']);
  });

  test('shows how to create a key on later starts, and no keys or login', () => {
    const text = announcement({ ...running, keys: undefined, login: undefined });
    expect(text).toContain('npm run -s rms -- keys create');
    expect(text).not.toContain('sk_');
    expect(text).not.toContain('password');
  });

  test('names an existing user who became the owner, and how to get a new password', () => {
    const text = announcement({ ...running, login: { email: 'owner@localhost', password: undefined } });
    expect(text).toContain('The existing user owner@localhost is the owner of the new workspace.');
    expect(text).toContain('npm run -s rms -- users reset --email owner@localhost');
    expect(text).not.toMatch(/password +undefined/);
  });
});
