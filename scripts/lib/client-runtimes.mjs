// The packed TypeScript client in a project, and the runtimes besides Node that run it.
import { copyFileSync, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './client-generators.mjs';
import { ensureTools, root } from './prepare.mjs';

const folder = join(root, 'scripts', 'clients', 'runtimes');
/** Behavior of workerd up to this date, like a project that is created on it. */
const compatibilityDate = '2026-11-01';

/**
 * Installs the packed client in the project folder `project`, and compiles scripts/clients/worker.ts there with all
 * checks of types: as worker.js, and as bundle.js for runtimes without node_modules.
 */
export async function prepareProject(project) {
  const options = { cwd: project };
  const npm = (...args) => run('npm', [...args, '--silent', '--no-audit', '--no-fund'], options).trim();
  const archive = npm('pack', join(root, 'clients', 'typescript'), '--pack-destination', project);
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
  npm('install', '--offline', join(project, archive));
  copyFileSync(join(root, 'scripts', 'clients', 'worker.ts'), join(project, 'worker.ts'));
  const types = ['--strict', '--exactOptionalPropertyTypes', '--lib', 'es2022,dom,dom.iterable'];
  run(join(root, 'node_modules', '.bin', 'tsc'), [...types, '--module', 'nodenext', 'worker.ts'], options);
  const { build } = await import('rolldown');
  const output = { file: join(project, 'bundle.js') };
  await build({ cwd: project, input: 'worker.js', platform: 'neutral', output, logLevel: 'warn' });
}

/** The runtimes: name → command that serves worker.js, or bundle.js, of the project at a port of 127.0.0.1. */
export const runtimes = {
  Bun: (port) => {
    const code = `import worker from './worker.js'; Bun.serve({ ...worker, hostname: '127.0.0.1', port: ${port} })`;
    return [program('@oven/bun-*/bin/bun'), '--eval', code];
  },
  Deno: (port) => {
    const options = ['--no-lock', '--allow-net', '--host', '127.0.0.1', '--port', `${port}`];
    return [program('@deno/*/deno'), 'serve', ...options, 'worker.js'];
  },
  workerd: (port, project) => {
    const config = join(project, 'config.capnp');
    writeFileSync(config, workerdConfig(port));
    return [program('@cloudflare/workerd-*/bin/workerd'), 'serve', config];
  },
};

/** Returns the path of a runtime's program. npm installs only packages for this platform. */
function program(pattern) {
  ensureTools(folder);
  const [file] = globSync(join(folder, 'node_modules', pattern));
  return file;
}

function workerdConfig(port) {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "bundle.js")],
      compatibilityDate = "${compatibilityDate}",
    )),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;
}
