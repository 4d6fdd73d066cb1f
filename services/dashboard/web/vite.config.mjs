import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const outDir = join(import.meta.dirname, '..', 'dist', 'web');

/** Writes compressed copies next to each file at build time, so that the service only reads them. */
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
  plugins: [react({ jsxImportSource: '@rms/dashboard-web' }), packed],
  // The content security policy forbids inline data.
  build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, target: 'es2022', modulePreload: { polyfill: false } },
  // Only `npm run dev` uses this server.
  server: {
    port: Number(process.env.DEV_PORT || 5173),
    strictPort: true,
    // Keeps the browser's Host, which the origin check compares with the Origin header.
    proxy: { '/api': { target: `http://127.0.0.1:${process.env.DASHBOARD_PORT || 8090}`, changeOrigin: false } },
  },
  logLevel: 'warn',
});
