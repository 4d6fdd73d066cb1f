import { groupingsOf, selectorsOf } from './expressions.ts';

test('selectors and groupings of a query are parsed', () => {
  const query =
    'histogram_quantile(0.99, sum by (le, route) (rate(rms_http_request_duration_seconds_bucket{route!~"/healthz|/livez|/readyz",status="5xx"}[5m]))) > rms_ready and rms:slo_errors:ratio_rate1h{slo="x"} > 1';
  expect(selectorsOf(query)).toEqual([
    { name: 'rms_http_request_duration_seconds_bucket', labels: ['route', 'status'] },
    { name: 'rms_ready', labels: [] },
  ]);
  expect(groupingsOf(query)).toEqual(['le', 'route']);
});
