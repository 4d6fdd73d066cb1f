import { createLogger, readSettings } from '@rms/service';
import { createDashboardContext } from '../src/context.ts';

test('does not start without alerts, whose counts it shows', () => {
  const log = createLogger({ name: 'dashboard', level: 'silent' });
  expect(() => createDashboardContext(readSettings({ ALERTS_ADDRESS: 'none' }), { log })).toThrow(
    /^ALERTS_ADDRESS is none, but the dashboard/,
  );
});
