import { perSuite, startOtlpCollector, startReceiver, startStandalone } from '@rms/testkit';
import { requestIdSuite } from './support/request-id-suite.ts';
import { traceSuite } from './support/trace-suite.ts';
import { openSettings, subscribeTraced } from './support/traced-request.ts';

describe('traces of npm start', () => {
  const collector = perSuite(startOtlpCollector);
  const standalone = perSuite(() => startStandalone({ env: { ...openSettings, ...collector.env.http } }));
  const receiver = perSuite(startReceiver);
  const target = perSuite(() => subscribeTraced({ shape: standalone, collector, receiver }));

  traceSuite(() => target);
  requestIdSuite(() => ({ ...target, logs: () => [standalone.output()] }));
});
