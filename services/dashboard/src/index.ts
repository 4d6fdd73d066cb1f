export { type DashboardConfig, readDashboardConfig } from './config.ts';
export { createDashboardContext, type DashboardContext } from './context.ts';
export { createDashboard, type DashboardService } from './service.ts';
export { createMemorySessionStore } from './session/memory-session-store.ts';
