import type { Callers } from '@rms/rpc';

export const callers: Callers = { gateway: 'all', dashboard: 'all', rms: 'all' };
