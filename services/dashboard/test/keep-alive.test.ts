import { startDashboard } from './support.ts';

test.each([
  ['620 seconds by default', {}, 'timeout=620'],
  ['KEEP_ALIVE_SECONDS', { KEEP_ALIVE_SECONDS: '4010' }, 'timeout=4010'],
])('idle connections of a load balancer are kept for %s', async (_, env, announced) => {
  const dashboard = await startDashboard(env);
  try {
    const response = await fetch(`${dashboard.url}/livez`);
    expect(response.headers.get('keep-alive')).toBe(announced);
  } finally {
    await dashboard.service.stop();
  }
});
