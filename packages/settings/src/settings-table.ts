import {
  claim,
  email,
  flag,
  hostPort,
  integer,
  list,
  name,
  oneOf,
  optionalUrl,
  port,
  portOrZero,
  roleName,
  secretUrl,
  targetOrNone,
  text,
} from './setting-parsers.ts';

/** A setting: an environment variable. Secrets can also be read from the file NAME_FILE. */
export interface Setting {
  readonly about: string;
  readonly default: string;
  /** Never shown; can be read from NAME_FILE. */
  readonly secret?: true;
  /** Standard variables of the system, used if this setting is not set; the first non-empty variable applies. */
  readonly fallbacks?: readonly string[];
  readonly parse: (text: string) => unknown;
}

/** Every setting of every service. docs/settings.md and `rms config` show this table. */
export const settingsTable = {
  HOST: setting('address on which the HTTP listeners listen', '127.0.0.1', text),
  PORT: setting('HTTP port of the live environment', '8080', port),
  SANDBOX_PORT: setting('HTTP port of the sandbox environment', '8081', port),
  PUBLIC_API_URL: setting('base URL of links in live responses; empty: the host of the request', '', optionalUrl),
  PUBLIC_SANDBOX_URL: setting(
    'base URL of links in sandbox responses; empty: the host of the request',
    '',
    optionalUrl,
  ),
  ERROR_CATALOG_URL: setting(
    'URL of your copy of docs/errors.md, for doc_url of errors; empty: no doc_url',
    '',
    optionalUrl,
  ),
  DASHBOARD_PORT: setting('HTTP port of the dashboard', '8090', port),
  DASHBOARD_URL: setting('public URL of the dashboard; empty: the host of the request', '', optionalUrl),
  TRACE_URL: setting('URL of a trace viewer, with {trace_id} in it; empty: pages show the trace ID', '', text),
  OIDC_ISSUER: setting('OpenID Connect provider for sign-in; empty: none', '', optionalUrl),
  OIDC_CLIENT_ID: setting('client ID of the dashboard at the provider', '', text),
  OIDC_CLIENT_SECRET: setting('client secret of the dashboard at the provider', '', text, true),
  OIDC_NAME: setting('name of the provider on the sign-in button', 'single sign-on', text),
  OIDC_EMAIL_CLAIM: setting('claim with the email address', 'email', claim),
  OIDC_EMAIL_TRUST: setting('treat an address without the claim email_verified as verified', 'false', flag),
  OWNER_EMAIL: setting('email address of the owner that npm start creates', 'owner@localhost', email),
  DATA_DIR: setting('folder of the embedded PostgreSQL and other data of npm start', '.data', text),
  DATABASE_URL: setting(
    'PostgreSQL; empty: the embedded one (npm start only)',
    '',
    secretUrl('postgres', 'postgresql'),
    true,
  ),
  DATABASE_POOL_SIZE: setting(
    'maximum PostgreSQL connections per service; at most 4 with the embedded PostgreSQL',
    '10',
    integer(2, 500),
  ),
  DATABASE_CA_FILE: setting('CA of the PostgreSQL certificate; if set, connections use verified TLS', '', text),
  DATABASE_CERT_FILE: setting('client certificate for PostgreSQL', '', text),
  DATABASE_KEY_FILE: setting('private key of DATABASE_CERT_FILE', '', text),
  DATABASE_ROLE_PREFIX: setting(
    'prefix of the roles that `rms migrate` creates and services assume: PREFIX_auth, …; none: the role of the login',
    'rms',
    roleName,
  ),
  REDIS_URL: setting('Redis; empty: in memory (npm start only)', '', secretUrl('redis', 'rediss'), true),
  REDIS_CA_FILE: setting('CA of the Redis certificate (rediss://); empty: the public CAs', '', text),
  REDIS_CERT_FILE: setting('client certificate for Redis', '', text),
  REDIS_KEY_FILE: setting('private key of REDIS_CERT_FILE', '', text),
  KAFKA_BROKERS: setting('Kafka, "host:port,host:port"; empty: in process (npm start only)', '', list),
  KAFKA_PREFIX: setting(
    'prefix of topic and group names; must differ between installations that share a Kafka cluster',
    'rms',
    name,
  ),
  KAFKA_TLS: setting('connect to Kafka with TLS', 'false', flag),
  KAFKA_CA_FILE: setting("CA of the brokers' certificates; empty: the public CAs", '', text),
  KAFKA_CERT_FILE: setting('client certificate for Kafka', '', text),
  KAFKA_KEY_FILE: setting('private key of KAFKA_CERT_FILE', '', text),
  KAFKA_SASL_MECHANISM: setting(
    'SASL mechanism: none, plain, scram-sha-256 or scram-sha-512',
    'none',
    oneOf('none', 'plain', 'scram-sha-256', 'scram-sha-512'),
  ),
  KAFKA_SASL_USERNAME: setting('SASL user name', '', text),
  KAFKA_SASL_PASSWORD: setting('SASL password', '', text, true),
  EVENT_PARTITIONS: setting(
    'partitions of rms.resource-events.v1; set once, before the first start',
    '6',
    integer(1, 1000),
  ),
  EVENT_REPLICATION: setting('replicas of rms.resource-events.v1 when it is created', '1', integer(1, 9)),
  GRPC_HOST: setting("address on which this service's gRPC server listens", '127.0.0.1', text),
  GRPC_PORT: setting("port of this service's gRPC server; 0: any free port", '0', portOrZero),
  GRPC_CERT_FILE: setting('certificate of this service for gRPC, as server and as client', '', text),
  GRPC_KEY_FILE: setting('private key of GRPC_CERT_FILE', '', text),
  GRPC_CA_FILE: setting("CA of all services' certificates; mutual TLS is enabled if all three files are set", '', text),
  INSECURE_GRPC: setting('allow gRPC without TLS outside loopback', 'false', flag),
  AUTH_ADDRESS: setting('gRPC target of auth', '127.0.0.1:9101', text),
  RESOURCES_ADDRESS: setting('gRPC target of resources', '127.0.0.1:9102', text),
  WEBHOOKS_ADDRESS: setting('gRPC target of webhooks', '127.0.0.1:9103', text),
  ALERTS_ADDRESS: setting('gRPC target of alerts; none: alerts is not installed', '127.0.0.1:9104', targetOrNone),
  RATE_LIMIT_REQUESTS: setting('requests per key and window; 0: no limit', '6000', integer(0, 1e9)),
  WORKSPACE_RATE_LIMIT_REQUESTS: setting(
    'requests of all keys of a workspace and environment per window; 0: no limit',
    '60000',
    integer(0, 1e9),
  ),
  RATE_LIMIT_WINDOW_SECONDS: setting('length of the rate limit windows', '60', integer(1, 86_400)),
  MONTHLY_QUOTA: setting('requests per workspace, environment and month; 0: no limit', '10000000', integer(0, 1e12)),
  MAX_KEYS_PER_WORKSPACE: setting('valid keys per workspace; 0: no limit', '1000', integer(0, 1e6)),
  MAX_MEMBERS_PER_WORKSPACE: setting('members per workspace; 0: no limit', '1000', integer(0, 1e6)),
  MAX_INVITATIONS_PER_WORKSPACE: setting('open invitations per workspace; 0: no limit', '100', integer(0, 1e6)),
  AUTH_FAILURE_LIMIT: setting(
    'failed authentications per address (IPv6: per /64) and minute; 0: no limit',
    '100',
    integer(0, 1e6),
  ),
  MAX_CONNECTIONS: setting('maximum connections per HTTP listener', '10000', integer(1, 1e6)),
  KEEP_ALIVE_SECONDS: setting(
    'time after which an HTTP listener closes an idle connection; longer than the idle timeout of the load balancer',
    '620',
    integer(1, 86_400),
  ),
  TRUSTED_PROXIES: setting('CIDRs of proxies whose X-Forwarded-For or Forwarded is trusted; empty: none', '', list),
  TRUST_TRACEPARENT: setting(
    "continue the trace of a client's traceparent; false: start a new trace with a link to it",
    'false',
    flag,
  ),
  WEBHOOK_ALLOW_HTTP: setting('allow http:// webhook URLs (development)', 'false', flag),
  WEBHOOK_ALLOW_CIDRS: setting('private networks that webhooks may call, as CIDRs', '', list),
  WEBHOOK_DENY_CIDRS: setting('public networks that webhooks may not call, as CIDRs', '', list),
  WEBHOOK_ALLOW_PORTS: setting(
    'additional ports that webhooks may call; default: 443, 80 and ports from 1024 without a well-known service',
    '',
    list,
  ),
  WEBHOOK_CA_FILE: setting('additional CAs for certificates of endpoints and the egress proxy', '', text),
  WEBHOOK_DNS_SERVERS: setting(
    'DNS servers for endpoint names, "address[:port],…"; empty: the DNS servers of the system',
    '',
    list,
  ),
  WEBHOOK_PROXY_URL: {
    ...setting(
      'proxy for webhook calls, "http://[user:password@]host:port" or https://; empty: HTTPS_PROXY; none: no proxy',
      '',
      text,
      true,
    ),
    fallbacks: ['HTTPS_PROXY', 'https_proxy'],
  },
  WEBHOOK_NO_PROXY: {
    ...setting('names, addresses and CIDRs called without the proxy, with or without :port; empty: NO_PROXY', '', list),
    fallbacks: ['NO_PROXY', 'no_proxy'],
  },
  EGRESS_PROXY_HOST: setting('address on which the egress proxy listens', '127.0.0.1', text),
  EGRESS_PROXY_PORT: setting('port of the egress proxy; 0: any free port', '4750', portOrZero),
  EGRESS_PROXY_CREDENTIALS: setting('required "user:password" of the egress proxy; empty: none', '', text, true),
  EGRESS_PROXY_CONNECTIONS: setting('maximum connections of the egress proxy', '4000', integer(1, 1e6)),
  WEBHOOK_DISABLE_AFTER_HOURS: setting(
    'hours without a success after which a failing webhook is disabled; 0: never',
    '120',
    integer(0, 100_000),
  ),
  MAX_WEBHOOKS_PER_WORKSPACE: setting('webhooks per workspace; 0: no limit', '1000', integer(0, 1e6)),
  LOG_RETENTION_DAYS: setting('retention of events and deliveries, in days', '30', integer(8, 3_650)),
  REQUEST_LOG: setting(
    'requests recorded for `rms trace`: all, writes (and failures), or none',
    'all',
    oneOf('all', 'writes', 'none'),
  ),
  REQUEST_LOG_DAYS: setting('retention of recorded requests, in days', '7', integer(1, 3_650)),
  ERASE_ON_DELETE: setting('erase delivered event bodies of a deleted resource', 'false', flag),
  ENCRYPTION_KEY: setting(
    'key that encrypts secrets at rest, 32 bytes in base64 (npm start generates one)',
    '',
    text,
    true,
  ),
  ENCRYPTION_KEY_PREVIOUS: setting(
    'previous encryption keys, "key,key"; required for decryption until `rms secrets rotate` has run',
    '',
    list,
    true,
  ),
  SESSION_KEY: setting(
    'key that encrypts the sessions of the dashboard in Redis, 32 bytes in base64 (npm start generates one)',
    '',
    text,
    true,
  ),
  SMTP_URL: setting(
    'SMTP server, "smtp://user:password@host:587" or smtps://; empty: emails are written to files (npm start) or queued',
    '',
    secretUrl('smtp', 'smtps'),
    true,
  ),
  SMTP_CA_FILE: setting("CA of the SMTP server's certificate; empty: the public CAs", '', text),
  EMAIL_FROM: setting('sender of emails, "Name <address>"; required with SMTP_URL', '', text),
  EMAIL_DIR: setting('folder for emails if SMTP_URL is empty (npm start: DATA_DIR/emails)', '', text),
  METRICS_ADDRESS: setting(
    'address of the Prometheus metrics of this service, "host:port"; empty: disabled',
    '',
    hostPort,
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    'endpoint for traces; other OTEL_* variables also apply; empty: tracing is disabled',
    '',
    text,
  ),
  OTEL_TRACES_SAMPLER: setting('sampler of traces; failures are always sampled', 'parentbased_always_on', text),
  OTEL_TRACES_SAMPLER_ARG: setting('share of traces sampled by traceidratio, 0 to 1', '1', text),
  LOG_LEVEL: setting(
    'log level: fatal, error, warn, info, debug or trace',
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace'),
  ),
  LOG_LEVEL_FILE: setting(
    'file with a log level, read every two seconds, to change it at run time; an empty file restores LOG_LEVEL',
    '',
    text,
  ),
} as const satisfies Record<string, Setting>;

function setting<T>(about: string, defaultText: string, parse: (value: string) => T, secret?: true) {
  return { about, default: defaultText, parse, ...(secret ? { secret } : {}) };
}
