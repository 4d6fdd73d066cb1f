import { startGateway } from './support/start-gateway.ts';

describe('POST /v1/portal_sessions', () => {
  test.each(['0.0.0.0', '::'])(
    'without DASHBOARD_URL on HOST=%s, no link is made that nobody can open',
    async (HOST) => {
      const api = await startGateway({ env: { HOST } });
      const { value: key } = api.auth.newKey('admin');
      const { status, body } = await api.send('POST', '/v1/portal_sessions', { key, json: {} });
      expect([status, body.error]).toEqual([
        409,
        expect.objectContaining({ code: 'conflict', message: expect.stringContaining('Set DASHBOARD_URL.') }),
      ]);
      await api.stop();
    },
  );
});
