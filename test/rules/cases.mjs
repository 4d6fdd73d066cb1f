// Per alert, input series that must make it fire (`fires`) and input series that must not (`quiet`), in promtool's
// notation with one value per minute, and the minute of evaluation. `labels` is a subset of the alert's labels.
const pod = 'namespace="n",pod="p"';
const requests = (status, values) =>
  `rms_http_requests_total{${pod},environment="live",route="/v1/resources",method="GET",status="${status}"} ${values}`;
const latency = (le, values) =>
  `rms_http_request_duration_seconds_${le === 'count' ? 'count' : 'bucket'}{${pod},${le === 'count' ? '' : `le="${le}",`}environment="live",route="/v1/resources",method="GET"} ${values}`;
const histogram = (name, le, labels, good, all) => [
  `${name}_bucket{${pod},le="${le}"${labels}} ${good}`,
  `${name}_count{${pod}${labels}} ${all}`,
];
const gauge = (name, labels, value) => `${name}{${pod}${labels}} ${value}x400`;
const emails = (outcome, values) => `rms_emails_total{${pod},service="alerts",outcome="${outcome}"} ${values}`;
const calls = (status, values) =>
  `rms_dashboard_calls_total{${pod},service="dashboard",route="/api/account",method="get",status="${status}"} ${values}`;
const built = (service) => `rms_build_info{${pod},service="${service}"} 1x400`;

/** @type {{alert: string, labels?: Record<string, string>, atMinutes: number, fires: string[], quiet: string[]}[]} */
export const cases = [
  {
    // 2 % of the requests: 20 times the budget.
    alert: 'RmsApiErrorBudgetBurn',
    labels: { severity: 'critical', namespace: 'n' },
    atMinutes: 70,
    fires: [requests('2xx', '0+980x400'), requests('5xx', '0+20x400')],
    // 0.1 % is exactly the budget. Aborted requests and client errors do not count.
    quiet: [requests('2xx', '0+9990x400'), requests('5xx', '0+10x400'), requests('4xx', '0+900x400')],
  },
  {
    // 0.4 % over a day: four times the budget.
    alert: 'RmsApiErrorBudgetBurn',
    labels: { severity: 'warning' },
    atMinutes: 1500,
    fires: [requests('2xx', '0+996x1600'), requests('5xx', '0+4x1600')],
    quiet: [requests('2xx', '0+9995x1600'), requests('5xx', '0+5x1600'), requests('aborted', '0+900x1600')],
  },
  {
    // 20 % slower than 250 ms: 20 times the budget.
    alert: 'RmsApiLatencyBudgetBurn',
    labels: { severity: 'critical' },
    atMinutes: 70,
    fires: [latency('0.25', '0+800x400'), latency('count', '0+1000x400')],
    quiet: [latency('0.25', '0+995x400'), latency('count', '0+1000x400')],
  },
  {
    alert: 'RmsApiLatencyBudgetBurn',
    labels: { severity: 'warning' },
    atMinutes: 1500,
    fires: [latency('0.25', '0+950x1600'), latency('count', '0+1000x1600')],
    quiet: [latency('0.25', '0+995x1600'), latency('count', '0+1000x1600')],
  },
  ...['critical', 'warning'].map((severity) => ({
    alert: 'RmsFirstAttemptBudgetBurn',
    labels: { severity },
    atMinutes: severity === 'critical' ? 70 : 1500,
    fires: histogram('rms_delivery_first_attempt_age_seconds', '5', ',endpoint="working"', '0+80x1600', '0+100x1600'),
    // Failing endpoints do not count: their deliveries are delayed intentionally.
    quiet: [
      ...histogram('rms_delivery_first_attempt_age_seconds', '5', ',endpoint="failing"', '0+10x1600', '0+100x1600'),
      ...histogram('rms_delivery_first_attempt_age_seconds', '5', ',endpoint="working"', '0+100x1600', '0+100x1600'),
    ],
  })),
  ...['critical', 'warning'].map((severity) => ({
    alert: 'RmsDeliveryBudgetBurn',
    labels: { severity },
    atMinutes: severity === 'critical' ? 70 : 1500,
    fires: [
      `rms_delivery_attempts_total{${pod},environment="live",result="delivered",cause="none"} 0+960x1600`,
      `rms_delivery_attempts_total{${pod},environment="live",result="retry",cause="proxy"} 0+20x1600`,
      `rms_delivery_attempts_lost_total{${pod},reason="unrecorded"} 0+20x1600`,
    ],
    // Failures of endpoints do not count.
    quiet: [
      `rms_delivery_attempts_total{${pod},environment="live",result="retry",cause="timeout"} 0+960x1600`,
      `rms_delivery_attempts_lost_total{${pod},reason="unrecorded"} 0x1600`,
    ],
  })),
  ...['critical', 'warning'].map((severity) => ({
    alert: 'RmsRevocationBudgetBurn',
    labels: { severity },
    atMinutes: severity === 'critical' ? 70 : 1500,
    fires: histogram('rms_key_revocation_seconds', '1', '', '0+5x1600', '0+10x1600'),
    quiet: histogram('rms_key_revocation_seconds', '1', '', '0+10x1600', '0+10x1600'),
  })),
  {
    alert: 'RmsOutboxStuck',
    atMinutes: 6,
    fires: [`rms_outbox_oldest_seconds{${pod}} 0+60x60`],
    quiet: [gauge('rms_outbox_oldest_seconds', '', 50)],
  },
  {
    alert: 'RmsOutboxDeep',
    atMinutes: 15,
    fires: [gauge('rms_outbox_events', '', 60_000)],
    quiet: [gauge('rms_outbox_events', '', 40_000)],
  },
  {
    alert: 'RmsRelayLag',
    atMinutes: 20,
    fires: ['5', '10', '+Inf'].map(
      (le) => `rms_outbox_relay_lag_seconds_bucket{${pod},le="${le}"} 0+${le === '5' ? 10 : 20}x60`,
    ),
    quiet: ['5', '10', '+Inf'].map((le) => `rms_outbox_relay_lag_seconds_bucket{${pod},le="${le}"} 0+20x60`),
  },
  {
    alert: 'RmsConsumerLag',
    atMinutes: 30,
    fires: ['0', '1'].map((n) => `rms_consumer_lag_records{${pod},partition="${n}"} 6000+100x60`),
    // A large lag that shrinks.
    quiet: [`rms_consumer_lag_records{${pod},partition="0"} 90000-1000x60`],
  },
  {
    alert: 'RmsDeadLetters',
    labels: { reason: 'refused' },
    atMinutes: 10,
    fires: [`rms_dead_letters_total{${pod},reason="refused"} 0 0 0 0 0 2x60`],
    quiet: [
      `rms_dead_letters_total{${pod},reason="refused"} 2x60`,
      `rms_dead_letters_total{${pod},reason="failed"} 0 0 0 0 0 2x60`,
    ],
  },
  {
    alert: 'RmsRecordsParked',
    atMinutes: 10,
    fires: [`rms_dead_letters{${pod},state="parked"} 3x60`],
    quiet: [`rms_dead_letters{${pod},state="parked"} 0x60`, `rms_dead_letters{${pod},state="kept"} 3x60`],
  },
  {
    alert: 'RmsEventsLost',
    atMinutes: 10,
    fires: [`rms_consumer_losses_total{${pod}} 0 0 0 0 0 1x60`],
    quiet: [`rms_consumer_losses_total{${pod}} 1x60`],
  },
  {
    alert: 'RmsDeliveriesOverdue',
    atMinutes: 20,
    fires: [`rms_deliveries_overdue_seconds{${pod},state="due"} 0+60x60`],
    quiet: ['circuit_open', 'throttled', 'retry'].map(
      (state) => `rms_deliveries_overdue_seconds{${pod},state="${state}"} 0+60x60`,
    ),
  },
  {
    alert: 'RmsDeliveriesHeldBack',
    labels: { state: 'throttled' },
    atMinutes: 60,
    fires: [`rms_deliveries_overdue_seconds{${pod},state="throttled"} 0+60x80`],
    quiet: [`rms_deliveries_overdue_seconds{${pod},state="circuit_open"} 0+60x80`],
  },
  {
    alert: 'RmsOldestUndelivered',
    labels: { state: 'retry' },
    atMinutes: 20,
    fires: [gauge('rms_deliveries_oldest_seconds', ',state="retry"', 180_000)],
    quiet: [gauge('rms_deliveries_oldest_seconds', ',state="retry"', 60_000)],
  },
  {
    alert: 'RmsRetryBacklog',
    atMinutes: 40,
    fires: [gauge('rms_deliveries_pending', ',state="retry"', 200_000)],
    quiet: [gauge('rms_deliveries_pending', ',state="in_flight"', 200_000)],
  },
  {
    alert: 'RmsDeliveryResultsWaiting',
    atMinutes: 5,
    fires: [gauge('rms_delivery_results_waiting', '', 3)],
    quiet: [gauge('rms_delivery_results_waiting', '', 0)],
  },
  {
    alert: 'RmsSecretsUnreadable',
    atMinutes: 10,
    fires: [`rms_delivery_attempts_lost_total{${pod},reason="secret"} 0+1x60`],
    quiet: [`rms_delivery_attempts_lost_total{${pod},reason="late"} 0+1x60`],
  },
  {
    alert: 'RmsNotReady',
    labels: { service: 'auth' },
    atMinutes: 10,
    fires: [gauge('rms_ready', ',service="auth"', 0)],
    quiet: [gauge('rms_ready', ',service="auth"', 0), 'rms_ready{namespace="n",pod="other",service="auth"} 1x60'],
  },
  {
    alert: 'RmsInstanceNotReady',
    labels: { service: 'auth', pod: 'p' },
    atMinutes: 20,
    fires: [gauge('rms_ready', ',service="auth"', 0), 'rms_ready{namespace="n",pod="other",service="auth"} 1x60'],
    quiet: [gauge('rms_ready', ',service="auth"', 1)],
  },
  {
    alert: 'RmsWorkerFailing',
    labels: { worker: 'fan-out' },
    atMinutes: 10,
    fires: [gauge('rms_worker_failing', ',service="webhooks",worker="fan-out"', 1)],
    quiet: [gauge('rms_worker_failing', ',service="webhooks",worker="fan-out"', 0)],
  },
  ...['gateway', 'auth', 'resources', 'webhooks'].map((service) => ({
    alert: 'RmsServiceMissing',
    labels: { service },
    atMinutes: 10,
    fires: ['gateway', 'auth', 'resources', 'webhooks'].filter((one) => one !== service).map(built),
    quiet: ['gateway', 'auth', 'resources', 'webhooks'].map(built),
  })),
  ...['alerts', 'dashboard'].map((service) => ({
    alert: 'RmsServiceMissing',
    labels: { service, severity: 'warning' },
    atMinutes: 60,
    fires: [built('gateway'), `rms_build_info{${pod},service="${service}"} 1x30 _x100`],
    // Optional services: not every installation has them.
    quiet: [built('gateway')],
  })),
  {
    alert: 'RmsMetricsMissing',
    atMinutes: 10,
    fires: ['up{job="other"} 1x60'],
    quiet: [built('gateway')],
  },
  {
    alert: 'RmsBacklogUnknown',
    labels: { source: 'deliveries' },
    atMinutes: 20,
    fires: [`rms_gather_age_seconds{${pod},service="webhooks",source="deliveries"} 0+60x60`],
    quiet: [gauge('rms_gather_age_seconds', ',service="webhooks",source="deliveries"', 15)],
  },
  {
    alert: 'RmsDependencyDown',
    labels: { dependency: 'limiter' },
    atMinutes: 10,
    fires: [gauge('rms_dependency_up', ',dependency="limiter"', 0)],
    quiet: [gauge('rms_dependency_up', ',dependency="limiter"', 1)],
  },
  {
    alert: 'RmsLimiterDegraded',
    atMinutes: 10,
    fires: [gauge('rms_limiter_degraded', '', 1)],
    quiet: [gauge('rms_limiter_degraded', '', 0)],
  },
  {
    alert: 'RmsKeyMarksUnconfirmed',
    atMinutes: 10,
    fires: [gauge('rms_key_markers_confirmed', '', 0)],
    // It is enough that one instance confirms the markers.
    quiet: [gauge('rms_key_markers_confirmed', '', 0), 'rms_key_markers_confirmed{namespace="n",pod="other"} 1x60'],
  },
  {
    alert: 'RmsDatabasePoolExhausted',
    labels: { pool: 'webhooks' },
    atMinutes: 15,
    fires: [gauge('rms_db_pool_waiting', ',pool="webhooks",service="webhooks"', 5)],
    quiet: [gauge('rms_db_pool_waiting', ',pool="webhooks",service="webhooks"', 0)],
  },
  {
    alert: 'RmsEventLoopLag',
    labels: { pod: 'p' },
    atMinutes: 15,
    fires: [gauge('nodejs_eventloop_lag_p99_seconds', '', 0.5)],
    quiet: [gauge('nodejs_eventloop_lag_p99_seconds', '', 0.05)],
  },
  {
    alert: 'RmsConnectionsRefused',
    atMinutes: 15,
    fires: [`rms_http_refused_total{${pod},environment="live",reason="too_many_connections"} 0+5x60`],
    quiet: [`rms_http_refused_total{${pod},environment="live",reason="malformed"} 0+5x60`],
  },
  {
    alert: 'RmsCertificateEnds',
    labels: { service: 'auth' },
    atMinutes: 30,
    fires: [gauge('rms_certificate_end_timestamp_seconds', ',service="auth"', 86_400)],
    quiet: [gauge('rms_certificate_end_timestamp_seconds', ',service="auth"', 864_000)],
  },
  {
    alert: 'RmsHousekeepingFailing',
    labels: { service: 'webhooks' },
    atMinutes: 90,
    fires: [gauge('rms_housekeeping_success_timestamp_seconds', ',service="webhooks"', 0)],
    quiet: [`rms_housekeeping_success_timestamp_seconds{${pod},service="webhooks"} 0+60x120`],
  },
  {
    alert: 'RmsClockJumped',
    labels: { service: 'webhooks' },
    atMinutes: 30,
    fires: [gauge('rms_database_clock_ahead_seconds', ',service="webhooks"', 86_400)],
    quiet: [gauge('rms_database_clock_ahead_seconds', ',service="webhooks"', 0)],
  },
  {
    alert: 'RmsEmailsNotSent',
    atMinutes: 60,
    fires: [emails('try_again', '0+1x400')],
    // Some mail servers are slow to accept emails.
    quiet: [emails('try_again', '0+1x400'), emails('sent', '0+1x400')],
  },
  {
    alert: 'RmsEmailsGivenUp',
    atMinutes: 60,
    fires: [emails('given_up', '0x30 1x100')],
    quiet: [emails('given_up', '1x400'), emails('sent', '0+1x400')],
  },
  {
    alert: 'RmsDashboardErrors',
    atMinutes: 30,
    fires: [calls('2xx', '0+90x60'), calls('5xx', '0+10x60')],
    quiet: [calls('2xx', '0+97x60'), calls('5xx', '0+3x60'), calls('4xx', '0+50x60')],
  },
  {
    alert: 'RmsRequestRecordsLost',
    labels: { service: 'dashboard' },
    atMinutes: 30,
    fires: [`rms_request_records_lost_total{${pod},service="dashboard"} 0+1x60`],
    quiet: [`rms_request_records_lost_total{${pod},service="dashboard"} 7x60`],
  },
];
