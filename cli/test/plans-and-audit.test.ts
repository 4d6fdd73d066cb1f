import { harmlessName, operatorContext } from '../src/operator.ts';
import { harmless } from '../src/print.ts';
import { startServices, type TestServices } from './support.ts';

describe('rms plans and rms audit', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services?.stop());

  test('plans are created, replaced and listed', async () => {
    const set = (...args: string[]) => services.json('plans', 'set', ...args);
    const big = await set(
      ...['big', '--rate-limit', '100', '--workspace-rate-limit', '900', '--window', '10'],
      ...['--quota', '5000000000', '--max-keys', '50', '--max-webhooks', '20'],
    );
    expect(big).toEqual({
      name: 'big',
      rate_limit_requests: 100,
      workspace_rate_limit_requests: 900,
      rate_limit_window_seconds: 10,
      max_keys: 50,
      max_webhooks: 20,
      monthly_quota: 5_000_000_000,
    });
    const open = await set('open', '--rate-limit', '0');
    expect(open).toMatchObject({ rate_limit_requests: 0, rate_limit_window_seconds: null, monthly_quota: null });
    expect((await services.json('plans', 'list')).data).toEqual([big, open]);
    const replaced = await set('big', '--quota', '1');
    expect(replaced).toMatchObject({ rate_limit_requests: null, monthly_quota: 1 });
    const { stdout } = await services.rms('plans', 'list');
    expect(stdout.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
      'NAME | RATE LIMIT | WORKSPACE LIMIT | WINDOW | MONTHLY QUOTA | KEYS | WEBHOOKS',
      'big | default | default | default | 1 | default | default',
      'open | none | default | default | default | default | default',
      '',
    ]);
  });

  test('the plan of a workspace is set and removed', async () => {
    const id = await services.createWorkspace();
    await services.json('plans', 'set', 'gold', '--quota', '7');
    const put = (plan: string) => services.json('workspaces', 'plan', id, '--plan', plan);
    const planOf = async () =>
      (await services.json('workspaces', 'list')).data.find((one: { id: string }) => one.id === id).plan;
    expect(await put('gold')).toMatchObject({ id, plan: 'gold' });
    expect(await planOf()).toBe('gold');
    expect((await services.rms('workspaces', 'list')).stdout).toMatch(new RegExp(`${id} +w +gold +active\n`));
    expect(await services.rms('plans', 'delete', 'gold')).toMatchObject({
      code: 1,
      stderr: 'rms: 1 workspace has the plan "gold". Set another plan first.\n',
    });
    expect(await put('none')).toMatchObject({ id, plan: null });
    expect(await planOf()).toBeNull();
    expect(await services.json('plans', 'delete', 'gold')).toEqual({ name: 'gold' });
  });

  test.each([
    [['plans', 'set', 'Big!'], 1, 'name must have'],
    [['plans', 'set', 'p', '--window', '99999'], 1, 'rate_limit_window_seconds'],
    [['plans', 'set', 'p', '--window', '0'], 2, 'greater than 0'],
    [['plans', 'set', 'none'], 2, 'is reserved'],
    [['plans', 'set', 'p', '--quota', '-1'], 2, '0 means no limit'],
    [['plans', 'set'], 2, 'name'],
    [['workspaces', 'plan', 'ws_none', '--plan', 'none'], 1, 'There is no workspace "ws_none"'],
    [['workspaces', 'plan', 'ws_none', '--plan', 'unheard-of'], 1, 'There is no workspace "ws_none"'],
    [['workspaces', 'plan', 'ws_none'], 2, '--plan'],
    [['workspaces', 'plan', 'ws_none', '--plan', ''], 2, 'is empty'],
    [['audit', '--workspace', 'ws_none'], 1, 'There is no workspace "ws_none"'],
    [['audit', '--since', 'yesterday'], 2, 'ISO 8601'],
    [['audit', '--limit', '0'], 2, 'greater than 0'],
    [['audit', '--installation', '--workspace', 'ws_none'], 2, '--installation'],
  ])('%j fails', async (args, code, text) => {
    const outcome = await services.rms(...args);
    expect(outcome).toMatchObject({ code, stdout: '' });
    expect(outcome.stderr).toContain(text);
  });

  test('audit lists the changes of a workspace, newest first', async () => {
    const id = await services.createWorkspace();
    const inIt = ['--workspace', id];
    const createArgs = ['keys', 'create', '--environment', 'test', '--scope', 'read', '--rate-limit', '3', '--name'];
    const first = await services.json(...createArgs, 'first', ...inIt);
    await services.json(...createArgs, 'turned \u202e', ...inIt);
    await services.json('keys', 'revoke', first.id, ...inIt);
    const { data } = await services.json('audit', '--target', first.id, ...inIt);
    expect(data).toEqual([
      expect.objectContaining({ action: 'key.revoked', target_id: first.id }),
      {
        id: expect.stringMatching(/^aud_/),
        type: 'audit_entry',
        created_at: expect.stringMatching(/Z$/),
        actor: expect.stringMatching(/^operator:[^@]+@[^@]+$/),
        actor_name: null,
        client_ip: null,
        request_id: expect.stringMatching(/^req_/),
        environment: 'sandbox',
        action: 'key.created',
        target_id: first.id,
        target_name: 'first',
        changes: [
          { field: 'name', before: null, after: 'first' },
          { field: 'scope', before: null, after: 'read' },
          { field: 'rate_limit_requests', before: null, after: 3 },
        ],
        details: {},
      },
    ]);
    const all = (await services.json('audit', ...inIt)).data as { action: string; id: string; request_id: string }[];
    expect(all.map((one) => one.id)).toEqual(
      all
        .map((one) => one.id)
        .sort()
        .reverse(),
    );
    // Each command has its own request ID.
    expect(new Set(all.map((one) => one.request_id)).size).toBe(all.length);

    const only = async (...args: string[]) =>
      (await services.json('audit', ...args, ...inIt)).data.map(({ action }: { action: string }) => action);
    expect(await only('--action', 'key.revoked')).toEqual(['key.revoked']);
    expect(await only('--action', 'key.')).toEqual(['key.revoked', 'key.created', 'key.created']);
    expect(await only('--action', 'key')).toEqual([]);
    expect(await only('--since', '1h')).toHaveLength(all.length);
    expect(await only('--since', new Date(Date.now() + 60_000).toISOString())).toEqual([]);

    const limited = await services.rms('audit', '--limit', '1', ...inIt, '--json');
    expect(JSON.parse(limited.stdout).data).toEqual(all.slice(0, 1));
    expect(limited.stderr).toContain('newest 1');
    const { stdout } = await services.rms('audit', ...inIt);
    expect(stdout.replace(/ {2,}/g, ' | ')).toContain(
      `key.created | "first" (${first.id}) | name: none → first; scope: none → read; rate_limit_requests: none → 3`,
    );
    expect(stdout).toContain('name: none → turned \ufffd;');
    expect(harmless(stdout)).toBe(stdout);
  });

  test('--installation shows entries without a workspace', async () => {
    await services.json('plans', 'set', 'audited', '--quota', '3');
    const { data } = await services.json('audit', '--installation', '--target', 'audited');
    expect(data).toMatchObject([
      {
        action: 'plan.set',
        target_id: 'audited',
        environment: null,
        target_name: 'audited',
        changes: [{ field: 'monthly_quota', before: null, after: 3 }],
      },
    ]);
  });
});

test('the name of the operator contains no separators or control characters', () => {
  expect(operatorContext()).toEqual({
    actor: expect.stringMatching(/^operator:[^@:\s]+@[^@:\s]+$/),
    requestId: expect.stringMatching(/^req_/),
  });
  expect(harmlessName('Zoë.O-1')).toBe('Zoë.O-1');
  expect(harmlessName('a@b: c\u001b[\n')).toBe('a_b__c___');
  expect(harmlessName('')).toBe('unknown');
});
