// npm run dev: runs `npm start` and restarts it when a service or package source changes, and serves the dashboard
// with hot reload. It uses the settings of `npm start`; DEV_PORT (5173) is the dashboard's port with hot reload.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { bundler, compileCache, orExit, pagesConfig, prepare, root } from './lib/prepare.mjs';

await orExit(() => prepare({ development: true }));
const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
const start = (...args) => spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
// The watch mode of Node follows the imports of main.ts, workspaces included, and stops the old process with SIGTERM.
const service = start('--watch', '--watch-preserve-output', join(root, 'standalone', 'src', 'main.ts'));
const pages = start(bundler, '-c', pagesConfig, '--clearScreen', 'false');
process.stderr.write(`rms: dashboard with hot reload: http://localhost:${process.env.DEV_PORT || 5173}\n`);

// If one of the two processes ends, the script stops the other. A terminal sends Ctrl-C to all processes; a supervisor
// sends SIGTERM only to this one.
const children = [service, pages];
const stop = () => children.forEach((child) => void child.kill('SIGTERM'));
process.on('SIGINT', () => {});
process.on('SIGTERM', stop);
const ends = children.map((child) => once(child, 'exit'));
const [code] = await Promise.race(ends);
stop();
await Promise.all(ends);
process.exit(code ?? 0);
