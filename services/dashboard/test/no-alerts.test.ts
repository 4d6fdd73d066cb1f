import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { createDashboardContext } from '../src/context.ts';

test('does not start without alerts', () => {
  const log = createLogger({ name: 'dashboard', level: 'silent' });
  expect(() => createDashboardContext(readSettings({ ALERTS_ADDRESS: 'none' }), { log })).toThrow(
    /^ALERTS_ADDRESS must not be "none"/,
  );
});
