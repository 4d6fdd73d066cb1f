import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endpoints } from '@rms/api/endpoints';
import type { Command } from 'commander';
import { createProgram } from '../src/program.ts';
import { oneText } from '../src/with-key/documents.ts';
import { baseUrl, targetOf } from '../src/with-key/target.ts';

const key = 'sk_test_x';

describe('the address and the key of a command', () => {
  const env = { XDG_CONFIG_HOME: '/nonexistent' };

  test('options come before variables', () => {
    const given = { ...env, RMS_URL: 'https://a.test', RMS_API_KEY: key };
    expect(targetOf({}, given)).toEqual({ url: 'https://a.test', api_key: key });
    expect(targetOf({ url: 'https://b.test', apiKey: 'sk_live_y' }, given)).toEqual({
      url: 'https://b.test',
      api_key: 'sk_live_y',
    });
    expect(targetOf({}, env)).toBeUndefined();
    expect(targetOf({}, { ...env, RMS_URL: 'https://a.test', RMS_API_KEY: '' })).toBeUndefined();
  });

  test('a key without an address, and a profile that does not exist, are errors', () => {
    expect(() => targetOf({ apiKey: key }, env)).toThrow('set RMS_URL or --url');
    expect(() => targetOf({ profile: 'x' }, env)).toThrow('There is no profile "x"');
    expect(() => targetOf({}, { ...env, RMS_PROFILE: 'y' })).toThrow('There is no profile "y"');
  });

  test('a key is sent only to its own address, unless an option names another', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-profiles-'));
    try {
      mkdirSync(join(folder, 'rms'));
      const stored = { url: 'https://stored.test', api_key: 'sk_test_stored' };
      writeFileSync(join(folder, 'rms', 'profiles.json'), JSON.stringify({ default: stored, team: stored }));
      const home = { XDG_CONFIG_HOME: folder, RMS_URL: 'https://other.test' };
      const given = { url: 'https://other.test', api_key: key };
      expect(targetOf({}, home)).toEqual(stored);
      expect(targetOf({}, { ...home, RMS_API_KEY: key })).toEqual(given);
      expect(targetOf({}, { ...home, RMS_API_KEY: key, RMS_PROFILE: 'team' })).toEqual(given);
      expect(targetOf({ profile: 'team' }, { ...home, RMS_API_KEY: key })).toEqual(stored);
      expect(targetOf({ url: 'https://b.test' }, home)).toEqual({ ...stored, url: 'https://b.test' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ['https://a.test/', 'https://a.test'],
    ['https://a.test/v1', 'https://a.test'],
    ['https://a.test:8443/rms/v1/', 'https://a.test:8443/rms'],
    ['http://127.0.0.1:1//', 'http://127.0.0.1:1'],
  ])('%s is the address %s', (text, url) => {
    expect(baseUrl(text)).toBe(url);
  });

  test.each(['a.test', 'ftp://a.test', 'https://user:pass@a.test', 'https://a.test/?x', 'https://a.test/#x', ''])(
    '"%s" is no address of the API',
    (text) => {
      expect(() => baseUrl(text)).toThrow('is not an address of the API');
    },
  );
});

const namesIn = (command: Command): string[] =>
  command.commands.length === 0
    ? [command.name()]
    : command.commands.flatMap((one) => namesIn(one).map((name) => `${command.name()} ${name}`));

test('every operation of the API is a command', async () => {
  const nouns = [
    ...['resources', 'events', 'keys', 'webhooks', 'deliveries', 'replays', 'requests', 'metrics'],
    ...['alerts', 'members', 'invitations', 'audit', 'workspace', 'portal'],
  ];
  const program = await createProgram([...nouns, '--api-key', key, '--url', 'https://a.test']);
  const commands = program.commands.filter((command) => nouns.includes(command.name())).flatMap(namesIn);
  expect(commands).toEqual([
    ...['resources create', 'resources show', 'resources list', 'resources update', 'resources delete'],
    ...['events list', 'events show'],
    ...['keys list', 'keys create', 'keys show', 'keys update', 'keys roll', 'keys revoke'],
    ...['webhooks create', 'webhooks filter-test', 'webhooks show', 'webhooks list', 'webhooks update'],
    ...['webhooks delete', 'webhooks pause', 'webhooks resume', 'webhooks rotate-secret', 'webhooks test'],
    'webhooks set-client-certificate',
    'webhooks remove-client-certificate',
    ...['deliveries list', 'deliveries show', 'deliveries redeliver', 'deliveries cancel'],
    ...['replays create', 'replays list', 'replays show', 'replays cancel'],
    ...['requests list', 'requests show', 'metrics requests', 'metrics deliveries'],
    ...['alerts list', 'alerts show', 'alerts acknowledge', 'alerts mute'],
    ...['alerts rules list', 'alerts rules show', 'alerts rules update', 'alerts rules test'],
    ...['alerts channels list', 'alerts channels create', 'alerts channels show', 'alerts channels update'],
    ...['alerts channels delete', 'alerts channels test'],
    ...['members list', 'members show', 'members update', 'members remove'],
    ...['invitations list', 'invitations create', 'invitations show', 'invitations revoke'],
    ...['workspace', 'portal', 'audit'],
  ]);
  expect(commands).toHaveLength(endpoints.length);
});

test('a document is shown with every field on a line of its own, also fields of objects in it', () => {
  const workspace = {
    id: 'ws_1',
    plan: 'team',
    limits: { requests_per_window: 100, requests_per_month: null },
    objects: { keys: { count: 2, limit: 10 }, webhooks: { count: 0, limit: null } },
    usage: null,
  };
  expect(oneText('workspace', workspace).split('\n')).toEqual([
    'id                          ws_1',
    'plan                        team',
    'limits.requests_per_window  100',
    'limits.requests_per_month   ',
    'objects.keys.count          2',
    'objects.keys.limit          10',
    'objects.webhooks.count      0',
    'objects.webhooks.limit      ',
    'usage                       ',
  ]);
  expect(oneText('resources', { metadata: {}, tags: ['a', 'b'], steps: [{ at: 1 }] }).split('\n')).toEqual([
    'metadata  {}',
    'tags      a, b',
    'steps     [{"at":1}]',
  ]);
});
