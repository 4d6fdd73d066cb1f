import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

const outDir = join(import.meta.dirname, '..', 'dist', 'web');

/** Writes each file's packed forms beside it, once, so that the service only reads them. */
const packed = {
  name: 'packed',
  closeBundle() {
    for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(js|css|html|svg)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const content = readFileSync(path);
      writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
      writeFileSync(`${path}.br`, brotliCompressSync(content, { params: quality }));
    }
  },
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), packed],
  // Packages of ours from their sources.
  resolve: { conditions: ['source', ...defaultClientConditions] },
  // The policy of the pages allows files only, no data: in their place.
  build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, target: 'es2022', modulePreload: { polyfill: false } },
  logLevel: 'warn',
});
