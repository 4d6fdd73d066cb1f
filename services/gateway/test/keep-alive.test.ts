import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { disposable } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

/** Returns the server's time limit in seconds for idle connections, according to its response. */
async function announced(url: string): Promise<number> {
  await using agent = disposable(new Agent({ keepAlive: true }), 'destroy');
  const [response] = (await once(get(`${url}/livez`, { agent }), 'response')) as [IncomingMessage];
  response.resume();
  return Number(/^timeout=(\d+)$/.exec(String(response.headers['keep-alive']))?.[1]);
}

describe('idle connections of a load balancer', () => {
  test.each([
    ['by default, longer than Google Cloud keeps them (600 seconds)', {}, 620],
    ['as long as KEEP_ALIVE_SECONDS', { KEEP_ALIVE_SECONDS: '4010' }, 4_010],
  ])('are kept %s', async (_, env, seconds) => {
    await using api = disposable(await startGateway({ env }));
    const { live, sandbox } = api.gateway.addresses;
    expect(await Promise.all([live, sandbox].map(announced))).toEqual([seconds, seconds]);
  });
});
