import {
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
  text,
} from './setting-parsers.ts';

/** Where a person can set something: an environment variable, or for a secret also NAME_FILE, a file with the value. */
export interface Setting {
  readonly about: string;
  readonly default: string;
  /** Never shown, may come from NAME_FILE. */
  readonly secret?: true;
  /** Variables of the system's conventions that count where this one is not set; the first that is. */
  readonly fallbacks?: readonly string[];
  readonly parse: (text: string) => unknown;
}

/** Every setting of every service. README and `rms config` show this table. */
export const settingsTable = {
  HOST: setting('address that the HTTP listeners bind to', '127.0.0.1', text),
  PORT: setting('HTTP port of the live environment', '8080', port),
  SANDBOX_PORT: setting('HTTP port of the sandbox environment', '8081', port),
  PUBLIC_API_URL: setting('base of links in live answers; empty: the host of the request', '', optionalUrl),
  PUBLIC_SANDBOX_URL: setting('base of links in sandbox answers; empty: the host of the request', '', optionalUrl),
  DASHBOARD_PORT: setting('HTTP port of the dashboard', '8090', port),
  DASHBOARD_URL: setting('where browsers find the dashboard; empty: the host of the request', '', optionalUrl),
  TRACE_URL: setting('where a trace can be looked at, with {trace_id} in it; empty: pages show its id', '', text),
  OIDC_ISSUER: setting('OpenID Connect provider that people may sign in by; empty: none', '', optionalUrl),
  OIDC_CLIENT_ID: setting('what the provider knows the dashboard by', '', text),
  OIDC_CLIENT_SECRET: setting('its secret there', '', text, true),
  OIDC_NAME: setting('what the button says: "Sign in by …"', 'single sign-on', text),
  OWNER_EMAIL: setting('e-mail address of the first owner, whom npm start makes', 'owner@localhost', email),
  DATA_DIR: setting('folder of the embedded PostgreSQL and of what npm start keeps', '.data', text),
  DATABASE_URL: setting(
    'PostgreSQL; empty: the embedded one (npm start only)',
    '',
    secretUrl('postgres', 'postgresql'),
    true,
  ),
  DATABASE_POOL_SIZE: setting('PostgreSQL connections of each service', '10', integer(2, 500)),
  DATABASE_CA_FILE: setting('CA that signs the certificate of PostgreSQL; set: TLS, verified', '', text),
  DATABASE_CERT_FILE: setting('client certificate for PostgreSQL', '', text),
  DATABASE_KEY_FILE: setting('its private key', '', text),
  DATABASE_ROLE_PREFIX: setting(
    'roles that `rms migrate` makes and the services take on: PREFIX_auth, …; none: keep the role of the login',
    'rms',
    roleName,
  ),
  REDIS_URL: setting('Redis; empty: in memory (npm start only)', '', secretUrl('redis', 'rediss'), true),
  REDIS_CA_FILE: setting('CA that signs the certificate of Redis (rediss://); empty: the public ones', '', text),
  REDIS_CERT_FILE: setting('client certificate for Redis', '', text),
  REDIS_KEY_FILE: setting('its private key', '', text),
  KAFKA_BROKERS: setting('Kafka, "host:port,host:port"; empty: in process (npm start only)', '', list),
  KAFKA_PREFIX: setting('first part of topic and group names; differs where installations share a Kafka', 'rms', name),
  KAFKA_TLS: setting('connect to Kafka by TLS', 'false', flag),
  KAFKA_CA_FILE: setting('CA that signs the certificates of the brokers; empty: the public ones', '', text),
  KAFKA_CERT_FILE: setting('client certificate for Kafka', '', text),
  KAFKA_KEY_FILE: setting('its private key', '', text),
  KAFKA_SASL_MECHANISM: setting(
    'none, plain, scram-sha-256 or scram-sha-512',
    'none',
    oneOf('none', 'plain', 'scram-sha-256', 'scram-sha-512'),
  ),
  KAFKA_SASL_USERNAME: setting('user of that mechanism', '', text),
  KAFKA_SASL_PASSWORD: setting('its password', '', text, true),
  EVENT_PARTITIONS: setting(
    'partitions of rms.resource-events.v1; set once, before the first start',
    '6',
    integer(1, 1000),
  ),
  EVENT_REPLICATION: setting('replicas of rms.resource-events.v1 when it is made', '1', integer(1, 9)),
  GRPC_HOST: setting('address that the gRPC server of this service binds to', '127.0.0.1', text),
  GRPC_PORT: setting('port of the gRPC server of this service; 0: any free one', '0', portOrZero),
  GRPC_CERT_FILE: setting('certificate that this service shows to the others, as server and as client', '', text),
  GRPC_KEY_FILE: setting('its private key', '', text),
  GRPC_CA_FILE: setting('CA that signs the certificates of all services; the three set: mutual TLS', '', text),
  INSECURE_GRPC: setting('allow gRPC without TLS beyond loopback', 'false', flag),
  AUTH_ADDRESS: setting('gRPC target of auth', '127.0.0.1:9101', text),
  RESOURCES_ADDRESS: setting('gRPC target of resources', '127.0.0.1:9102', text),
  WEBHOOKS_ADDRESS: setting('gRPC target of webhooks', '127.0.0.1:9103', text),
  ALERTS_ADDRESS: setting('gRPC target of alerts', '127.0.0.1:9104', text),
  RATE_LIMIT_REQUESTS: setting('requests a key may make in a window; 0: no limit', '6000', integer(0, 1e9)),
  RATE_LIMIT_WINDOW_SECONDS: setting('length of that window', '60', integer(1, 86_400)),
  MONTHLY_QUOTA: setting(
    'requests of a workspace and environment in a month; 0: no limit',
    '10000000',
    integer(0, 1e12),
  ),
  AUTH_FAILURE_LIMIT: setting(
    'failed authentications of an address (IPv6: of a /64) in a minute; 0: no limit',
    '100',
    integer(0, 1e6),
  ),
  MAX_CONNECTIONS: setting('connections that each HTTP listener holds at once', '10000', integer(1, 1e6)),
  TRUSTED_PROXIES: setting('CIDRs whose X-Forwarded-For is believed; empty: none', '', list),
  TRUST_TRACEPARENT: setting(
    "continue the trace of a client's traceparent; false: begin one of our own, with a link to it",
    'false',
    flag,
  ),
  WEBHOOK_ALLOW_HTTP: setting('let webhook URLs be http:// (development)', 'false', flag),
  WEBHOOK_ALLOW_CIDRS: setting('private networks that webhooks may call, as CIDRs', '', list),
  WEBHOOK_ALLOW_PORTS: setting(
    'ports that webhooks may call beside 443, 80 and those from 1024 on that no other well-known service has',
    '',
    list,
  ),
  WEBHOOK_CA_FILE: setting(
    'CAs that sign certificates of endpoints and of the egress proxy, beside the public ones',
    '',
    text,
  ),
  WEBHOOK_DNS_SERVERS: setting(
    'DNS servers for names of endpoints, "address[:port],…"; empty: those of the system',
    '',
    list,
  ),
  WEBHOOK_PROXY_URL: {
    ...setting(
      'proxy that webhooks call through, "http://[user:password@]host:port" or https://; empty: HTTPS_PROXY; none: no proxy',
      '',
      text,
      true,
    ),
    fallbacks: ['HTTPS_PROXY', 'https_proxy'],
  },
  WEBHOOK_NO_PROXY: {
    ...setting('what they call without it: names, addresses, CIDRs, each with :port or not; empty: NO_PROXY', '', list),
    fallbacks: ['NO_PROXY', 'no_proxy'],
  },
  EGRESS_PROXY_HOST: setting('address that the egress proxy binds to', '127.0.0.1', text),
  EGRESS_PROXY_PORT: setting('port of the egress proxy; 0: any free one', '4750', portOrZero),
  EGRESS_PROXY_CREDENTIALS: setting('"user:password" that it asks for; empty: nothing', '', text, true),
  EGRESS_PROXY_CONNECTIONS: setting('connections that it holds at once', '4000', integer(1, 1e6)),
  WEBHOOK_DISABLE_AFTER_HOURS: setting(
    'hours of failures only after which a webhook is disabled; 0: never',
    '120',
    integer(0, 100_000),
  ),
  LOG_RETENTION_DAYS: setting('days for which events and deliveries are kept', '30', integer(8, 3_650)),
  REQUEST_LOG: setting(
    'requests that `rms trace` finds: all, writes (and what fails), or none',
    'all',
    oneOf('all', 'writes', 'none'),
  ),
  REQUEST_LOG_DAYS: setting('days for which requests are kept', '7', integer(1, 3_650)),
  ERASE_ON_DELETE: setting('erase delivered event bodies of a deleted resource', 'false', flag),
  ENCRYPTION_KEY: setting('32 bytes in base64 that encrypt secrets at rest (npm start makes one)', '', text, true),
  ENCRYPTION_KEY_PREVIOUS: setting(
    'earlier encryption keys, "key,key"; they open what they sealed until `rms secrets rotate` has run',
    '',
    list,
    true,
  ),
  SMTP_URL: setting(
    'mail server, "smtp://user:password@host:587" or smtps://; empty: mails go into files (npm start) or wait',
    '',
    secretUrl('smtp', 'smtps'),
    true,
  ),
  SMTP_CA_FILE: setting('CA that signs the certificate of the mail server; empty: the public ones', '', text),
  MAIL_FROM: setting('who mails come from, "Name <address>"; needed with SMTP_URL', '', text),
  MAIL_DIR: setting('folder for mails where SMTP_URL is empty (npm start: DATA_DIR/mail)', '', text),
  METRICS_ADDRESS: setting(
    'where this service shows its Prometheus metrics, "host:port"; empty: nowhere',
    '',
    hostPort,
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    "where traces go, like OpenTelemetry's other variables, which all count; empty: nothing is traced",
    '',
    text,
  ),
  OTEL_TRACES_SAMPLER: setting('which traces are taken; what fails always is', 'parentbased_always_on', text),
  OTEL_TRACES_SAMPLER_ARG: setting('the part that traceidratio takes, 0 to 1', '1', text),
  LOG_LEVEL: setting(
    'fatal, error, warn, info, debug or trace',
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace'),
  ),
  LOG_LEVEL_FILE: setting(
    'file that holds a level, read every two seconds: it changes that of a running service; empty file: LOG_LEVEL',
    '',
    text,
  ),
} as const satisfies Record<string, Setting>;

function setting<T>(about: string, defaultText: string, parse: (value: string) => T, secret?: true) {
  return { about, default: defaultText, parse, ...(secret ? { secret } : {}) };
}
