import {
  type OtlpCollector,
  type Receiver,
  type Standalone,
  startOtlpCollector,
  startReceiver,
  startStandalone,
} from '@rms/testkit';
import { requestIdSuite } from './support/request-id-suite.ts';
import { traceSuite } from './support/trace-suite.ts';
import { openSettings, subscribeTraced, type TracedShape } from './support/traced-request.ts';

describe('traces of npm start', () => {
  let collector: OtlpCollector;
  let standalone: Standalone;
  let receiver: Receiver;
  let target: TracedShape;
  beforeAll(async () => {
    collector = await startOtlpCollector();
    standalone = await startStandalone({ env: { ...openSettings, ...collector.env.http } });
    receiver = await startReceiver();
    target = await subscribeTraced({ shape: standalone, collector, receiver });
  });
  afterAll(async () => {
    await standalone?.stop();
    await receiver?.close();
    await collector?.stop();
  });

  traceSuite(() => target);
  requestIdSuite(() => ({ ...target, logs: () => [standalone.output()] }));
});
