import { harmless } from '../src/print.ts';
import { startServices, type TestServices } from './support.ts';

const hostile = 'agent \u001b[2J\u009b2J\u202e';

describe('rms keys: clients of a key, and updates', () => {
  let services: TestServices;
  let workspaceId: string;
  beforeAll(async () => {
    services = await startServices();
    workspaceId = await services.createWorkspace();
  });
  afterAll(() => services?.stop());

  const create = async (...more: string[]) => {
    const args = ['--environment', 'test', '--scope', 'read', '--name', 'k', ...more];
    const key = await services.json('keys', 'create', ...args);
    return { ...key, workspaceId } as { id: string; key: string; workspaceId: string };
  };
  const listed = async (id: string) =>
    (await services.json('keys', 'list')).data.find((key: { id: string }) => key.id === id);
  const lineOf = async (id: string) =>
    (await services.rms('keys', 'list')).stdout.split('\n').find((line) => line.startsWith(id));

  test('list and show print the creator and the last use of a key', async () => {
    const key = await create('--rate-limit', '7', '--allow-ip', '192.0.2.0/24');
    expect(await listed(key.id)).toMatchObject({ last_used_at: null, last_used_ip: null, clients: [] });
    await services.use(key, '192.0.2.1', 'curl/8', new Date('2026-01-01T00:00:00Z'));
    await services.use(key, '192.0.2.2', hostile, new Date('2026-01-02T00:00:00Z'));
    const found = await listed(key.id);
    expect(found).toMatchObject({
      created_by: expect.stringMatching(/^operator:[^@]+@[^@]+$/),
      created_by_name: expect.stringMatching(/^[^:@]+@[^@]+$/),
      rate_limit: 7,
      last_used_at: '2026-01-02T00:00:00.000Z',
      last_used_ip: '192.0.2.2',
      clients: [
        { address: '192.0.2.2', user_agent: hostile, last_used_at: '2026-01-02T00:00:00.000Z', requests: 1 },
        { address: '192.0.2.1', user_agent: 'curl/8', last_used_at: '2026-01-01T00:00:00.000Z', requests: 1 },
      ],
    });
    expect(await services.json('keys', 'show', key.id)).toEqual(found);
    for (const text of ['192.0.2.2', '2026-01-02T00:00:00.000Z', found.created_by_name, '192.0.2.0/24', ' 7 ']) {
      expect(await lineOf(key.id)).toContain(text);
    }
    const { stdout } = await services.rms('keys', 'show', key.id);
    expect(stdout).toContain('agent \ufffd[2J\ufffd2J\ufffd');
    expect(stdout).toMatch(/rate limit +7\n/);
  });

  test('during the overlap of a roll, list prints the clients of the old key', async () => {
    const create = () => services.createKey(workspaceId);
    const [old, unused, ended] = [await create(), await create(), await create()];
    await services.use(old, '192.0.2.1', 'early', new Date('2026-01-01T00:00:00Z'));
    await services.use(ended, '192.0.2.9', 'too late');
    const next = await services.json('keys', 'roll', old.id, '--overlap', '24h');
    await services.json('keys', 'roll', unused.id, '--overlap', '24h');
    await services.json('keys', 'roll', ended.id, '--overlap', '0s');
    await services.use(old, '192.0.2.2', `late ${hostile}\nkey_forged  row`, new Date(Date.now() + 1_000));
    const { stdout } = await services.rms('keys', 'list');
    const below = stdout.slice(stdout.indexOf('\n\n'));
    const lines = below.split('\n').map((line) => line.replace(/ {2,}/g, ' | '));
    expect(below).toContain(`it is replaced by ${next.id}. Its clients:`);
    expect(lines).toContainEqual(expect.stringMatching(/^192\.0\.2\.1 \| 2026-01-01T\S+ \| 1 \| no \| early$/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^192\.0\.2\.2 \| \S+ \| 1 \| yes \| late agent \ufffd\[2J\ufffd2J\ufffd{2}key_forged/),
    );
    expect(below).toMatch(new RegExp(`${unused.id} works until .*It has no recorded use\\.`));
    expect(below).not.toContain(ended.id);
    expect(harmless(stdout)).toBe(stdout);
    expect(await lineOf(old.id)).toMatch(/rolled, works until \S+Z$/);
    expect(await lineOf(ended.id)).toMatch(/rolled$/);
  });

  test('update changes only the given attributes', async () => {
    const { id } = await create('--rate-limit', '9', '--allow-ip', '192.0.2.1');
    const update = (...args: string[]) => services.json('keys', 'update', id, ...args);
    expect(await update('--name', 'other')).toMatchObject({
      name: 'other',
      allowed_ips: ['192.0.2.1/32'],
      rate_limit: 9,
    });
    const allowed = await update('--allow-ip', '10.0.0.0/8', '--allow-ip', '2001:db8::1', '--rate-limit', '5');
    expect(allowed).toMatchObject({
      name: 'other',
      allowed_ips: ['10.0.0.0/8', '2001:db8::1/128'],
      rate_limit: 5,
    });
    const open = await update('--any-ip', '--rate-limit', 'default');
    expect(open).toMatchObject({ name: 'other', allowed_ips: [], rate_limit: null });
    expect(await listed(id)).toMatchObject(open);
    const { stdout } = await services.rms('keys', 'update', id, '--name', 'last');
    expect(stdout).toBe(`Updated ${id}.\n`);
    const wrong = await services.rms('keys', 'update', id, '--allow-ip', '10.0.0.0/33');
    expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('10.0.0.0/33') });
  });
});
