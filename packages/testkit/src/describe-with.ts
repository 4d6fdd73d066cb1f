/** What a suite may need beside PostgreSQL, and the variable that says where it is. */
const variables = { redis: 'TEST_REDIS_URL', kafka: 'TEST_KAFKA_BROKERS' };

export type TestServer = keyof typeof variables;

/** The part of jest that is needed; this file is also loaded where there is no jest, by the benchmarks. */
type Describe = { (name: string, suite: () => void): void; skip(name: string, suite: () => void): void };

/** The address of a server that a suite needs, as `npm test` has passed it on. */
export function testServer(server: TestServer): string {
  const address = process.env[variables[server]];
  if (!address) throw new Error(`${variables[server]} is not set; run the tests by \`npm test\``);
  return address;
}

/**
 * A suite that needs servers beside PostgreSQL. Where one is missing the suite is skipped, and the closing lines of
 * `npm test` name it, with what brings the server.
 */
export function describeWith(servers: TestServer | readonly TestServer[], name: string, suite: () => void): void {
  const needed = typeof servers === 'string' ? [servers] : servers;
  const missing = needed.filter((server) => !process.env[variables[server]]);
  const { describe } = globalThis as unknown as { describe: Describe };
  if (missing.length === 0) describe(name, suite);
  else describe.skip(`${name} [needs ${missing.join(', ')}]`, suite);
}
