// Builds the dashboard's pages with the pseudo-language: vite build -c … --outDir …
import { join } from 'node:path';
import pages from '../../services/dashboard/web/vite.config.mjs';

const [react] = pages.plugins;
const alias = [{ find: './catalogs.ts', replacement: join(import.meta.dirname, 'pseudo-language.ts') }];
// Without the plugin that compresses the service's own pages.
export default { ...pages, plugins: [react], resolve: { alias } };
