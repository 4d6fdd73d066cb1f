import type { Command } from 'commander';
import { alertsListCommand } from './alerts-list.ts';
import { alertsRulesCommand } from './alerts-rules.ts';
import { alertsTestCommand } from './alerts-test.ts';

export function define(alerts: Command): void {
  alerts.addCommand(alertsListCommand());
  alerts.addCommand(alertsRulesCommand());
  alerts.addCommand(alertsTestCommand());
}
