import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { startGateway } from './support/start-gateway.ts';

/** Returns the server's time limit in seconds for idle connections, according to its response. */
async function announced(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  try {
    const [response] = (await once(get(`${url}/livez`, { agent }), 'response')) as [IncomingMessage];
    response.resume();
    return Number(/^timeout=(\d+)$/.exec(String(response.headers['keep-alive']))?.[1]);
  } finally {
    agent.destroy();
  }
}

describe('idle connections of a load balancer', () => {
  test.each([
    ['by default, longer than Google Cloud keeps them (600 seconds)', {}, 620],
    ['as long as KEEP_ALIVE_SECONDS', { KEEP_ALIVE_SECONDS: '4010' }, 4_010],
  ])('are kept %s', async (_, env, seconds) => {
    const api = await startGateway({ env });
    try {
      const { live, sandbox } = api.gateway.addresses;
      expect(await Promise.all([live, sandbox].map(announced))).toEqual([seconds, seconds]);
    } finally {
      await api.stop();
    }
  });
});
