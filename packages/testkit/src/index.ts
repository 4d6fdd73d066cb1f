export {
  type AuditedCase,
  type AuditedCases,
  auditedChain,
  auditedSecrets,
  readAudited,
  testAuditedCases,
} from './audited.ts';
export { type Certificates, type IssueOptions, makeCertificates } from './certificates/certificates.ts';
export { checkDeliveryTables, type Finding, type Invariant } from './delivery-tables.ts';
export { chromiumPath, describeWith, type Need } from './describe-with.ts';
export { disposable, perSuite, perTest, suiteFolder } from './fixture.ts';
export { freePort } from './free-port.ts';
export type { Behavior, ListenerName, ReadRecord, ReceiverRecord } from './hostile/behavior.ts';
export { type FrozenReceiver, startFrozenReceiver } from './hostile/frozen-receiver.ts';
export { type HostileReceiver, startHostileReceiver } from './hostile/hostile-receiver.ts';
export { isLinear } from './is-linear.ts';
export { type LocalServices, localServices } from './local-services.ts';
export { countAcrossJump, movableClock } from './movable-clock.ts';
export { type DialWatch, watchDials } from './names/dial-watch.ts';
export { type DnsServer, type Records, startDnsServer } from './names/dns-server.ts';
export { serveNames } from './names/served-names.ts';
export { type NamedServer, secondAddress, testSlowNames } from './names/slow-names.ts';
export { noLimits } from './no-limits.ts';
export { testOperatorMethods } from './operator-methods.ts';
export { type OtlpCollector, startOtlpCollector } from './otlp/otlp-collector.ts';
export type { ReceivedSpan } from './otlp/received-span.ts';
export { type ReceivedRequest, type Receiver, startReceiver } from './receiver.ts';
export { seededRandom } from './seeded-random.ts';
export { type ConnectProxy, startConnectProxy } from './servers/connect-proxy.ts';
export { type FailoverPair, startFailoverPair } from './servers/failover-pair.ts';
export { type Kafka, startKafka } from './servers/kafka/kafka.ts';
export { isLoadingData, restartWithData, slowLoading } from './servers/loading-redis.ts';
export { type LoopbackServer, listenOnLoopback } from './servers/loopback-server.ts';
export { type PostgresServer, startPostgres, startPostgresAt } from './servers/postgres.ts';
export { type Program, startProgram } from './servers/program.ts';
export { type RedisServer, startRedis } from './servers/redis.ts';
export { type RedisCluster, startRedisCluster } from './servers/redis-cluster.ts';
export { type RedisSentinels, startRedisSentinels } from './servers/redis-sentinels.ts';
export { mountSmallDisk, type SmallDisk } from './servers/small-disk.ts';
export { startTcpSwitch, type TcpSwitch } from './servers/tcp-switch.ts';
export { startTrap, type Trap } from './servers/trap.ts';
export { type ApiResponse, apiCaller, callApi } from './shapes/call-api.ts';
export { type Commands, type Outcome, startCommands } from './shapes/commands.ts';
export { type Network, type NetworkGateway, type NetworkOptions, startNetwork } from './shapes/network.ts';
export { programEnv } from './shapes/program-env.ts';
export { isReady, isServing } from './shapes/readiness.ts';
export { resultOf } from './shapes/rms-command.ts';
export { type Standalone, startStandalone } from './shapes/standalone.ts';
export { shiftClock } from './shifted-clock.ts';
export type { ReceivedEmail, SmtpPlan } from './smtp/plan.ts';
export { type SmtpReceiver, startSmtpReceiver } from './smtp/smtp-receiver.ts';
export { type TestDatabase, testDatabase, testPool } from './test-database.ts';
export { type RunServer, testServer } from './test-run.ts';
export { createEmptyPool, type Turns, turnLoop } from './turns.ts';
export { installVirtualClock, type VirtualClock } from './virtual-clock.ts';
export { waitUntil } from './wait-until.ts';
export { fillWorkspace, rowsOfWorkspace } from './workspace-rows.ts';
