import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  describeWith,
  type Network,
  type Program,
  perSuite,
  startNetwork,
  startReceiver,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';

interface Line {
  readonly msg: string;
  readonly level: string;
  readonly request_id?: string;
  readonly [field: string]: unknown;
}

describeWith(['redis', 'kafka'], 'The log of the services', () => {
  let network: Network;
  let account: Account;
  const folder = suiteFolder('logs');
  let levelFile: string;
  afterAll(() => network?.stop());
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    levelFile = join(folder, 'level');
    writeFileSync(levelFile, '');
    network = await startNetwork({ env: { ...openSettings, LOG_LEVEL: 'info', LOG_LEVEL_FILE: levelFile } });
    account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
  });

  /** Returns the lines that a service has logged about a request. */
  const linesOf = (program: Program, requestId: string) =>
    program
      .output()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.request_id === requestId);
  const lineOf = (program: Program, requestId: string, message: string) =>
    waitUntil(() => linesOf(program, requestId).find(({ msg }) => msg === message), { what: `the line "${message}"` });
  const subscribe = async (requestId: string) => {
    const admin = await account.client('live', 'admin');
    const json = { url: `${receiver.url}/hook`, events: ['*'] };
    await admin.send('POST', '/v1/webhooks', { json, headers: { 'X-Request-ID': requestId } });
  };

  test('has one line per request and one per attempt that it caused, with its request id', async () => {
    const { gateway, webhooks } = network.services;
    await subscribe('log-test-0001');
    const writer = await account.client('live', 'write');
    const headers = { 'X-Request-ID': 'log-test-0002' };
    await writer.send('POST', '/v1/resources', { json: { name: 'hunter2' }, headers });
    expect(await lineOf(gateway, 'log-test-0002', 'request')).toMatchObject({
      level: 'info',
      method: 'POST',
      route: '/v1/resources',
      status: 201,
    });
    expect(await lineOf(webhooks, 'log-test-0002', 'attempt')).toMatchObject({
      level: 'info',
      result: 'delivered',
      attempt: 1,
      status_code: 200,
    });
    expect(linesOf(gateway, 'log-test-0002')).toHaveLength(1);
    expect(linesOf(webhooks, 'log-test-0002')).toHaveLength(1);
    for (const program of [gateway, webhooks]) expect(program.output()).not.toContain('hunter2');
  });

  test('changes its level while the services run', async () => {
    const { webhooks, auth, resources } = network.services;
    expect(linesOf(webhooks, 'log-test-0001').filter(({ level }) => level === 'debug')).toEqual([]);
    writeFileSync(levelFile, 'debug\n');
    for (const service of [webhooks, auth, resources]) {
      await waitUntil(() => service.output().includes('"new_level":"debug"'), { what: 'the new level' });
    }
    await subscribe('log-test-0003');
    expect(await lineOf(webhooks, 'log-test-0003', 'call')).toMatchObject({
      level: 'debug',
      method: 'rms.webhooks.v1.WebhooksService/CreateWebhook',
      code: 'ok',
      duration_ms: expect.any(Number),
    });
    // A batched call logs the id of each of its requests.
    const { key } = await account.newKey('live', 'write');
    const headers = { 'X-Request-ID': 'log-test-0005' };
    await account.clientWith('live', key).send('POST', '/v1/resources', { json: { name: 'Fine' }, headers });
    expect(await lineOf(auth, 'log-test-0005', 'call')).toMatchObject({
      method: 'rms.auth.v1.KeysService/BatchVerifyKeys',
    });
    expect(await lineOf(resources, 'log-test-0005', 'call')).toMatchObject({
      method: 'rms.resources.v1.ResourcesService/BatchCreateResources',
    });
    writeFileSync(levelFile, '');
    await waitUntil(() => webhooks.output().includes('"new_level":"LOG_LEVEL"'), { what: 'the previous level' });
    await subscribe('log-test-0004');
    await lineOf(network.services.gateway, 'log-test-0004', 'request');
    expect(linesOf(webhooks, 'log-test-0004').filter(({ level }) => level === 'debug')).toEqual([]);
  });
});
