import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { KeyUses } from '../../src/checks/key-uses.ts';
import { RequestLog } from '../../src/requests/request-log.ts';

const log = createLogger({ name: 'gateway', level: 'silent' });

function counted() {
  let sent = 0;
  const send = async () => {
    sent += 1;
    return {} as never;
  };
  return { count: () => sent, send };
}

/** Notes something before each report. */
const reports =
  (reporter: { start(): void; stop(): Promise<void> }, note: () => void) => async (signal: AbortSignal) => {
    reporter.start();
    while (!signal.aborted) {
      note();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await reporter.stop();
  };

test('100,000 turns of the reports of key uses leave nothing behind', async () => {
  const { count, send } = counted();
  const uses = new KeyUses({ batchReportKeyUses: send }, log);
  const principal = { workspaceId: 'ws_1', keyId: 'key_1' } as never;
  const { bytesPerTurn } = await turnLoop(reports(uses, () => uses.note(principal, '192.0.2.1', 'agent')));
  expect(count()).toBeGreaterThan(10_000);
  expect(bytesPerTurn).toBeLessThan(16);
});

test('100,000 turns of the reports of requests leave nothing behind', async () => {
  const { count, send } = counted();
  const auth = { batchReportRequests: send };
  const requests = new RequestLog({ auth, scope: 'all', dropped: () => {}, log });
  const record = { workspaceId: 'ws_1', environment: 'live', requestId: 'req_1' } as never;
  const { bytesPerTurn } = await turnLoop(reports(requests, () => requests.note(record)));
  expect(count()).toBeGreaterThan(10_000);
  expect(bytesPerTurn).toBeLessThan(16);
});
