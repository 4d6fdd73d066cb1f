// Strict schemas of custom resources, from the CustomResourceDefinitions in the Go modules of their projects.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { cache, execute, findGo, keep } from './tools.mjs';

const definitions = [
  {
    module: 'github.com/cert-manager/cert-manager@v1.21.2',
    files: ['certificates', 'issuers'].map((name) => `deploy/crds/cert-manager.io_${name}.yaml`),
  },
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    files: ['scaledobjects', 'triggerauthentications'].map((name) => `config/crd/bases/keda.sh_${name}.yaml`),
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    files: ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  },
];

/**
 * Returns the schemas' location for kubeconform: CRD_SCHEMAS, or schemas that are downloaded once with Go. Throws
 * a PrepareError.
 */
export function findCrdSchemas() {
  if (process.env.CRD_SCHEMAS) return process.env.CRD_SCHEMAS;
  const versions = definitions.map(({ module }) => module.slice(module.lastIndexOf('@') + 1)).join('-');
  const folder = join(cache, `crds-${versions}`);
  if (!existsSync(folder)) {
    process.stderr.write('rms: fetching the schemas of custom resources (once)\n');
    const fresh = `${folder}.${process.pid}`;
    rmSync(fresh, { recursive: true, force: true });
    for (const { module, files } of definitions) {
      const { Dir: root } = JSON.parse(
        execute(findGo('schemas of custom resources'), ['mod', 'download', '-json', module]),
      );
      for (const file of files) convert(parse(readFileSync(join(root, file), 'utf8')), fresh);
    }
    keep(fresh, folder);
  }
  return join(folder, '{{.Group}}', '{{.ResourceKind}}_{{.ResourceAPIVersion}}.json');
}

function convert({ spec: { group, names, versions } }, folder) {
  mkdirSync(join(folder, group), { recursive: true });
  for (const { name, schema } of versions) {
    const file = join(folder, group, `${names.kind.toLowerCase()}_${name}.json`);
    writeFileSync(file, JSON.stringify(strict(schema.openAPIV3Schema)));
  }
}

/** Returns a schema that rejects unknown fields, which the API server would drop silently. */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, description: _, ...rest } = schema;
  const result = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, strict(value)]));
  if (schema['x-kubernetes-int-or-string']) result.type = ['integer', 'string'];
  if (!properties) return result;
  const open = schema['x-kubernetes-preserve-unknown-fields'] || 'additionalProperties' in schema;
  return {
    ...result,
    // The keys are field names; a field may be called "properties".
    properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, strict(part)])),
    ...(open ? {} : { additionalProperties: false }),
  };
}
