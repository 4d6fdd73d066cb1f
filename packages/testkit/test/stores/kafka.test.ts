import { connect } from 'node:net';
import { describeWith, type Kafka, startKafka, waitUntil } from '../../src/index.ts';

describeWith('java', 'startKafka', () => {
  let kafka: Kafka | undefined;
  afterEach(() => kafka?.stop());

  test('a broker stops listening after a kill, and listens at the same address after a restart', async () => {
    kafka = await startKafka({ brokers: 1 });
    const [pid] = kafka.pids;
    expect(await accepts(kafka.brokers)).toBe(true);
    await kafka.kill(0);
    expect(await accepts(kafka.brokers)).toBe(false);
    await kafka.restart(0);
    expect(await accepts(kafka.brokers)).toBe(true);
    expect(kafka.pids[0]).not.toBe(pid);
  });

  test('two of three brokers keep listening when one is killed', async () => {
    kafka = await startKafka({ brokers: 3 });
    const addresses = kafka.brokers.split(',');
    expect(addresses).toHaveLength(3);
    await kafka.kill(1);
    expect(await Promise.all(addresses.map(accepts))).toEqual([true, false, true]);
    await kafka.restart(1);
    await waitUntil(() => accepts(addresses[1] ?? ''), { what: 'the second broker to listen' });
  });
});

function accepts(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
