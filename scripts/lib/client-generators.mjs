// Generators of API clients, and the commands that compile their results.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installPackages } from './packages.mjs';
import { root } from './prepare.mjs';
import { cache, find, findGo, findProgram, findPythonProgram, keep } from './tools.mjs';

const versions = {
  openapiGenerator: '7.17.0',
  openapiPythonClient: '0.29.1',
  openapiTypescript: '7.13.0',
  /** Used by openapi-typescript, and to compile its result. */
  typescript: '5.9.3',
  nodeTypes: '24.19.2',
  /** Library that the code of oapi-codegen imports. */
  oapiRuntime: 'v1.9.0',
};
const mavenCopy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
/** The generated code must compile with all checks of types. */
const tscOptions = ['--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2022,dom', '--types', 'node'];

/** From Debian's libnewtonsoft-json-cil-dev. */
const newtonsoft = '/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll';
const csharpStandIns = join(root, 'scripts', 'clients', 'csharp-stand-ins.cs');

/** A program is missing, so the checks that need it do not run. */
export class MissingProgram extends Error {}

/**
 * The checks: name → function that generates a client from `document` into `folder` and compiles it. It throws if one of
 * them fails, and a {@link MissingProgram} if a program is missing.
 */
export const generators = {
  'openapi-generator python': (document, folder) => {
    generate('python', document, folder);
    const venv = join(folder, '.venv');
    need('python3');
    run('python3', ['-m', 'venv', venv]);
    const python = join(venv, 'bin', 'python');
    run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', folder]);
    run(python, ['-c', importAll, 'openapi_client']);
  },
  'openapi-generator go': (document, folder) => {
    generate('go', document, folder);
    compileGo(folder);
  },
  'openapi-generator java': (document, folder) => {
    generate('java', document, folder);
    run('mvn', ['-q', '-B', 'compile'], { cwd: folder });
  },
  'openapi-generator csharp': (document, folder) => generate('csharp', document, folder),
  'openapi-generator csharp, compiled': (document, folder) => {
    need('dotnet');
    generate('csharp', document, folder);
    run('dotnet', ['build', '--nologo', '--verbosity', 'quiet', join(folder, 'src', 'Org.OpenAPITools')]);
  },
  'openapi-generator csharp, library httpclient': (document, folder) => {
    const failure = installPackages(['mcs'], ['mono-mcs', 'libmono-cil-dev', 'libnewtonsoft-json-cil-dev']);
    if (failure) throw new MissingProgram(failure);
    if (!existsSync(newtonsoft)) throw new MissingProgram('libnewtonsoft-json-cil-dev is missing');
    const framework = '--additional-properties=targetFramework=net48,nullableReferenceTypes=false';
    generate('csharp', document, folder, '--library', 'httpclient', framework);
    const references = ['Net.Http', 'ComponentModel.DataAnnotations', 'Runtime.Serialization', 'Web'];
    const sources = [`-recurse:${join(folder, 'src', 'Org.OpenAPITools', '*.cs')}`, csharpStandIns];
    run('mcs', [
      ...['-target:library', '-langversion:latest', `-out:${join(folder, 'client.dll')}`, `-r:${newtonsoft}`],
      ...references.map((name) => `-r:System.${name}.dll`),
      ...sources,
    ]);
  },
  'openapi-generator typescript-fetch': (document, folder) => {
    generate('typescript-fetch', document, folder);
    tsc(['--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler', join(folder, 'index.ts')]);
  },
  'oapi-codegen': (document, folder) => {
    const go = goProgram();
    const program = findProgram('oapi-codegen');
    const file = join(folder, 'client.go');
    run(program, ['-generate', 'types,client', '-package', 'client', '-o', file, document]);
    const options = { cwd: folder, env: goEnvironment() };
    run(go, ['mod', 'init', 'client'], options);
    run(go, ['get', `github.com/oapi-codegen/runtime@${versions.oapiRuntime}`], options);
    run(go, ['mod', 'tidy'], options);
    compileGo(folder);
  },
  'openapi-typescript': (document, folder) => {
    const file = join(folder, 'api.ts');
    run(join(typescriptTools(), 'openapi-typescript'), [document, '-o', file]);
    tsc(['--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler', file]);
  },
  'openapi-python-client': (document, folder) => {
    need('python3');
    const program = findPythonProgram('openapi-python-client', versions.openapiPythonClient);
    const config = join(folder, 'config.yaml');
    // Without the hooks, which format the code with another program.
    writeFileSync(config, 'post_hooks: []\npackage_name_override: client\n');
    const output = join(folder, 'project');
    const args = ['generate', '--path', document, '--output-path', output, '--config', config, '--fail-on-warning'];
    run(program, args);
    run(join(dirname(program), 'python'), ['-c', importAll, 'client'], { cwd: output });
  },
};

/** Compiles scripts/clients/scenario.ts with the client in `folder`. Returns the program. */
export function compileScenario(scenario, folder) {
  const out = join(folder, 'out');
  tsc(['--module', 'commonjs', '--rootDir', folder, '--outDir', out, scenario]);
  // The checkout's packages are ES modules.
  writeFileSync(join(out, 'package.json'), '{"type":"commonjs"}');
  return join(out, 'scenario.js');
}

/** Imports all modules of a package, so that every class is created. */
const importAll = `
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
`;

function generate(language, document, folder, ...options) {
  need('java', 'mvn');
  const args = ['-jar', openapiGenerator(), 'generate', '-g', language, '-i', document, '-o', folder, ...options];
  run('java', args);
}

/** Returns the path of openapi-generator's jar, which Maven downloads once. */
function openapiGenerator() {
  const name = `openapi-generator-cli-${versions.openapiGenerator}.jar`;
  const jar = join(cache, name);
  if (existsSync(jar)) return jar;
  process.stderr.write('rms: fetching openapi-generator (once)\n');
  const folder = `${jar}.${process.pid}`;
  try {
    const artifact = `org.openapitools:openapi-generator-cli:${versions.openapiGenerator}`;
    run('mvn', ['-q', '-B', mavenCopy, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`]);
    keep(join(folder, name), jar);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return jar;
}

/** Returns the program folder of openapi-typescript and TypeScript 5, which npm installs once. */
function typescriptTools() {
  const { openapiTypescript, typescript } = versions;
  const folder = join(cache, `openapi-typescript-${openapiTypescript}-typescript-${typescript}`);
  const programs = join(folder, 'node_modules', '.bin');
  if (existsSync(programs)) return programs;
  process.stderr.write('rms: installing openapi-typescript (once)\n');
  const building = `${folder}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  writeFileSync(join(building, 'package.json'), '{"private":true}');
  const packages = [
    `openapi-typescript@${openapiTypescript}`,
    `typescript@${typescript}`,
    `@types/node@${versions.nodeTypes}`,
  ];
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--save-exact', ...packages], { cwd: building });
  keep(building, folder);
  return programs;
}

function tsc(args) {
  const programs = typescriptTools();
  const types = ['--typeRoots', join(programs, '..', '@types')];
  run(join(programs, 'tsc'), [...tscOptions, ...types, ...args]);
}

function compileGo(folder) {
  run(goProgram(), ['build', './...'], { cwd: folder, env: goEnvironment() });
}

function goProgram() {
  try {
    return findGo('go');
  } catch {
    throw new MissingProgram('go is missing');
  }
}

/** Ignores the caller's GOFLAGS. */
function goEnvironment() {
  return { ...process.env, GOFLAGS: '-mod=mod' };
}

function need(...names) {
  const missing = names.filter((name) => !find(name));
  if (missing.length > 0) throw new MissingProgram(`${missing.join(' and ')} is missing`);
}

/** Runs a program and returns its output. Throws an error with its whole output if it fails. */
export function run(command, args, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (status !== 0) throw error ?? new Error(`${command} ${args[0]} failed:\n${stdout}${stderr}`);
  return stdout;
}
