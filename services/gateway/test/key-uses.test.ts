import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import { createLogger } from '@rms/runtime/logging';
import { KeyUses } from '../src/checks/key-uses.ts';
import { startGateway } from './support/start-gateway.ts';

describe('Key uses', () => {
  test('are reported in one call, with one entry per key and client, when the gateway stops', async () => {
    const api = await startGateway({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
    const [one, other] = [api.auth.newKey('read'), api.auth.newKey('read')];
    const get = (key: string, from: string, agent: string) =>
      api.send('GET', '/v1/resources', { key, headers: { 'X-Forwarded-For': from, 'User-Agent': agent } });
    for (let i = 0; i < 3; i += 1) await get(one.value, '192.0.2.1', 'curl/8');
    await get(one.value, '192.0.2.2', 'x'.repeat(300));
    await get(other.value, '192.0.2.1', 'curl/8');
    await api.stop();
    expect(
      api.auth.uses.map(({ keyId, address, userAgent, requests }) => [keyId, address, userAgent, requests]),
    ).toEqual([
      [one.keyId, '192.0.2.1', 'curl/8', 3n],
      [one.keyId, '192.0.2.2', 'x'.repeat(256), 1n],
      [other.keyId, '192.0.2.1', 'curl/8', 1n],
    ]);
  });

  test('requests beyond the rate limit are not recorded', async () => {
    const api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '2', RATE_LIMIT_WINDOW_SECONDS: '3600' } });
    const { value: key } = api.auth.newKey('read');
    for (let i = 0; i < 4; i += 1) {
      await api.send('GET', '/v1/resources', { key, headers: { 'User-Agent': `agent ${i}` } });
    }
    await api.stop();
    expect(api.auth.uses.map(({ userAgent, requests }) => [userAgent, requests])).toEqual([
      ['agent 0', 1n],
      ['agent 1', 1n],
    ]);
  });

  test('the last refused request of a key is reported, after a failed report with the next one', async () => {
    const api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '2', RATE_LIMIT_WINDOW_SECONDS: '3600' } });
    const [limited, scoped, used] = [api.auth.newKey('read'), api.auth.newKey('read'), api.auth.newKey('read')];
    for (let i = 0; i < 3; i += 1) await api.send('GET', '/v1/resources', { key: limited.value });
    await api.send('POST', '/v1/resources', { key: scoped.value, json: {} });
    await api.send('GET', '/v1/resources', { key: used.value });
    await api.stop();
    expect(api.auth.refusals.map(({ keyId, errorCode }) => [keyId, errorCode])).toEqual([
      [limited.keyId, 'rate_limit_exceeded'],
      [scoped.keyId, 'insufficient_scope'],
    ]);

    const reports: unknown[] = [];
    const auth = {
      async batchReportKeyUses({ refusals }: { refusals: unknown[] }) {
        reports.push(refusals);
        if (reports.length === 1) throw new Error('unavailable');
      },
    };
    const uses = new KeyUses(auth as unknown as ConstructorParameters<typeof KeyUses>[0], silent);
    uses.noteRefusal({ keyId: 'key_1' } as Principal, 'ip_not_allowed');
    await uses.flush();
    await uses.flush();
    await uses.flush();
    expect(reports).toHaveLength(2);
    expect(reports[1]).toMatchObject([{ keyId: 'key_1', errorCode: 'ip_not_allowed' }]);
  });

  test('failed reports are merged into the next one', async () => {
    const reports: unknown[][] = [];
    let fail = true;
    const auth = {
      batchReportKeyUses: async ({ uses = [] }: { uses?: unknown[] }) => {
        if (fail) throw new Error('away');
        reports.push(uses);
        return {};
      },
    };
    const uses = new KeyUses(auth as unknown as ConstructorParameters<typeof KeyUses>[0], silent);
    const principal = { keyId: 'key_1' } as Principal;
    uses.note(principal, '192.0.2.1', undefined);
    await uses.flush();
    uses.note(principal, '192.0.2.1', undefined);
    fail = false;
    await uses.flush();
    expect(reports).toMatchObject([[{ keyId: 'key_1', userAgent: '', requests: 2n }]]);
    await uses.flush();
    expect(reports).toHaveLength(1);
  });

  test('counted during a report are reported before the gateway stops', async () => {
    const reports: unknown[][] = [];
    let respond = () => {};
    const auth = {
      batchReportKeyUses: ({ uses = [] }: { uses?: unknown[] }) => {
        reports.push(uses);
        return new Promise<object>((resolve) => {
          respond = () => resolve({});
          if (reports.length > 1) respond();
        });
      },
    };
    const uses = new KeyUses(auth as unknown as ConstructorParameters<typeof KeyUses>[0], silent);
    uses.note({ keyId: 'key_1' } as Principal, '192.0.2.1', undefined);
    void uses.flush();
    uses.note({ keyId: 'key_2' } as Principal, '192.0.2.1', undefined);
    const stopped = uses.stop();
    respond();
    await stopped;
    expect(reports).toMatchObject([[{ keyId: 'key_1' }], [{ keyId: 'key_2' }]]);
  });

  test('memory is bounded: uses by further clients are dropped, in total, per key and per workspace', async () => {
    let reported = 0;
    const counts = new Map<string, number>();
    const auth = {
      batchReportKeyUses: async ({ uses = [] }: { uses?: { keyId?: string; workspaceId?: string }[] }) => {
        reported = uses.length;
        for (const { keyId = '', workspaceId = '' } of uses) {
          for (const id of [keyId, workspaceId]) counts.set(id, (counts.get(id) ?? 0) + 1);
        }
        return {};
      },
    };
    const uses = new KeyUses(auth as unknown as ConstructorParameters<typeof KeyUses>[0], silent);
    const noteKey = (keyId: string, workspaceId: string, address: string) =>
      uses.note({ keyId, workspaceId } as Principal, address, 'a');
    for (let i = 0; i < 12_000; i += 1) noteKey('key_crowded', 'ws_1', `10.0.${i >> 8}.${i & 255}`);
    for (let i = 0; i < 2_000; i += 1) noteKey(`key_of_2_${i}`, 'ws_2', '192.0.2.1');
    for (let i = 0; i < 12_000; i += 1) noteKey(`key_${i}`, `ws_of_${i}`, '192.0.2.1');
    await uses.flush();
    expect(reported).toBe(10_000);
    expect([counts.get('key_crowded'), counts.get('ws_2')]).toEqual([100, 1_000]);
  });
});

const silent = createLogger({ name: 'test', level: 'silent' });
