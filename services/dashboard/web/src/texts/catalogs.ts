import type { Catalog } from './catalog.ts';

/**
 * Catalogs by language ("de"). English is not listed, because each page contains its own English texts; another catalog
 * is loaded by the pages that it translates.
 */
export const catalogs: Readonly<Record<string, () => Promise<Catalog>>> = {};
