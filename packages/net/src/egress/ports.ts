/** The HTTP ports below 1024. All other ports below 1024 belong to other protocols. */
const webPorts = [80, 443];
const lowestFreePort = 1_024;

/**
 * Blocked ports from 1024 upwards: the "bad ports" of the Fetch standard, then ports of data stores and of machine
 * administration.
 */
const takenPorts = new Set([
  ...[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  ],
  // SQL Server, Oracle, MySQL, PostgreSQL, Redis, CouchDB, Cassandra, Elasticsearch, Memcached, MongoDB.
  ...[1433, 1521, 3306, 5432, 6379, 5984, 9042, 9200, 9300, 11211, 27017, 27018, 27019],
  // ZooKeeper, etcd, AMQP, Kafka.
  ...[2181, 2379, 2380, 5671, 5672, 9092],
  // Docker, Kubernetes, remote desktops, WinRM.
  ...[2375, 2376, 6443, 10250, 10255, 3389, 5900, 5985, 5986],
]);

/**
 * Creates a check for the ports that webhooks may call: the web ports, ports without a well-known service, and the
 * ports the operator allows.
 */
export function createPortGuard(allowPorts: readonly number[]): (port: number) => boolean {
  const allowed = new Set([...webPorts, ...allowPorts]);
  return (port) => allowed.has(port) || (port >= lowestFreePort && port <= 65_535 && !takenPorts.has(port));
}

/** Parses a port number. Throws an error with a message for the operator. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw new Error(`"${text}" is not a port`);
  return port;
}
