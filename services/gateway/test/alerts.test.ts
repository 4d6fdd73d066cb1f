import { newId } from '@rms/base/ids';
import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { perTest } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('Alerts', () => {
  let key: string;
  const api = perTest(startGateway);
  beforeEach(() => {
    key = api.auth.newKey('admin').value;
  });

  test('a rule is changed only if it has the version of If-Match', async () => {
    const path = '/v1/alert_rules/quota';
    const { headers, body } = await api.send('GET', path, { key });
    expect(body.data).toMatchObject({ kind: 'quota', type: 'alert_rule', threshold: 0.8, window: null, minimum: null });
    const change = (etag: string) =>
      api.send('PUT', path, { key, json: { threshold: 0.9, window: null }, headers: { 'If-Match': etag } });
    expect((await change(headers.etag ?? '')).status).toBe(200);
    expect((await change('"2.x"')).status).toBe(412);
    expect(api.alerts.updates.map(({ threshold, window }) => [threshold, window])).toEqual([
      [0.9, undefined],
      [0.9, undefined],
    ]);
  });

  test('an unknown kind is 404, invalid fields are 400', async () => {
    const unknown = await api.send('GET', '/v1/alert_rules/weather', { key });
    expect([unknown.status, unknown.body.error.message]).toEqual([
      404,
      expect.stringContaining('There is no alert rule "weather". Rules: api_error_rate,'),
    ]);
    for (const json of [{ threshold: -1 }, { window: 59 }, { recipients: Array(21).fill('a@b.c') }, { other: 1 }]) {
      expect((await api.send('PUT', '/v1/alert_rules/quota', { key, json })).status).toBe(400);
    }
  });

  test('a test returns the reply of the mail server for each recipient', async () => {
    const { status, body } = await api.send('POST', '/v1/alert_rules/quota/test', {
      key,
      headers: { 'Idempotency-Key': 'replayed' },
    });
    expect([status, body.data]).toEqual([
      200,
      {
        addresses: ['owner@example.com'],
        emails: [{ address: 'owner@example.com', state: 'sent', reply: '250 OK' }],
      },
    ]);
    expect(api.alerts.idempotencyKeys).toEqual(['replayed']);
  });

  test('an incident shows its subject, its severity and the reason of its end', async () => {
    const [disabled, ended] = [
      api.alerts.addIncident(),
      api.alerts.addIncident({ kind: AlertKind.QUOTA, subjectId: 'exceeded', state: IncidentState.ENDED }),
    ];
    const shown = async (id: string) => (await api.send('GET', `/v1/incidents/${id}`, { key })).body.data;
    expect(await shown(disabled)).toMatchObject({
      ...{ type: 'incident', kind: 'webhook_disabled', status: 'open', end_reason: null, severity: 'critical' },
      subject: { type: 'webhook', id: expect.stringMatching(/^wh_/), name: 'https://example.com/hooks' },
      opened_at: '2026-01-02T03:04:05.678Z',
    });
    expect(await shown(ended)).toMatchObject({ status: 'closed', end_reason: 'obsolete', severity: 'critical' });
    expect((await api.send('GET', `/v1/incidents/${newId('inc')}`, { key })).status).toBe(404);
  });

  test('the filters of a list reach alerts', async () => {
    api.alerts.addIncident();
    const list = (query: string) => api.send('GET', `/v1/incidents?${query}`, { key });
    expect((await list('status=closed&kind=quota&subject_id=exceeded&per_page=5')).status).toBe(200);
    expect(api.alerts.lists).toMatchObject([
      { closed: true, state: IncidentState.UNSPECIFIED, kind: AlertKind.QUOTA, subjectId: 'exceeded', pageSize: 5 },
    ]);
    for (const query of ['status=muted', 'kind=weather', 'subject_id=', 'since=2026']) {
      expect((await list(query)).status).toBe(400);
    }
  });

  test('an installation without alerts responds with 503', async () => {
    const other = await startGateway({ env: { ALERTS_ADDRESS: 'none' } });
    const { status, body } = await other.send('GET', '/v1/incidents', { key: other.auth.newKey('admin').value });
    expect([status, body.error.message]).toEqual([503, 'This installation runs without the alerts service.']);
    await other.stop();
  });
});
