export { type AlertsConfig, readAlertsConfig } from './config.ts';
export { type AlertsContext, createAlertsContext } from './context.ts';
export { createAlerts } from './service.ts';
