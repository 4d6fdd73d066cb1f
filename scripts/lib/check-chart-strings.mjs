// Property of the Helm chart: every string value arrives in the objects unchanged, or the schema refuses it.
//
// The chart is rendered twice with all string values set: with harmless markers, and with hostile strings. The second
// result must be the first one with each marker replaced.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { acceptedStrings, keyMarkerOf, markerOf, refusedString, stringValues } from './chart-strings.mjs';

/** Name of the release and of the namespace, which YAML reads as numbers if they are not quoted. */
const release = ['7e1', '--namespace', '0123'];
const rounds = 20;

/** Values that select objects and are not printed. */
const notPrinted = [/^monitoring\.prometheusRule\.disabled$/, /^cli\.(autoscaling|keda|service|\w+Probe)\b/];

/** Values that together print every string value; `without`: string values that stay empty. */
const scenarios = [
  {
    name: 'secrets of the cluster, cert-manager, autoscaling',
    values: { tls: { mode: 'certManager' }, each: { autoscaling: { enabled: true } } },
    without: [/\.value$/, /^tls\.existingSecrets/, /\.keda\./, /^image\.digest/],
  },
  {
    name: 'inline secrets, self-signed certificates, KEDA',
    values: { tls: { mode: 'selfSigned' }, each: { keda: { enabled: true }, serviceAccount: { create: false } } },
    without: [/\.(existingSecret|existingSecretKey)$/, /^tls\.existingSecrets/, /\.autoscaling\./],
    keep: /\.tls\.existingSecret$/,
  },
  {
    name: 'one Secret, certificates of the user, URLs of the ingress, KEDA on Kafka',
    values: { tls: { mode: 'existingSecrets' }, each: {}, webhooks: { keda: { enabled: true } } },
    without: [
      ...[/\.(value|existingSecret)$/, /\.keda\./, /\.autoscaling\./, /^image\.tag/, /^fullnameOverride/],
      ...[/^gateway\.publicUrls/, /^dashboard\.publicUrl/],
    ],
    keep: /\.tls\.existingSecret$/,
  },
];

/** Calls `check(name, work)` per property. `template(values, args)` renders the chart. */
export function checkStrings(chart, template, check) {
  const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  const strings = stringValues(JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')));
  const free = strings.filter(({ choices }) => !choices);
  const printed = new Set();
  for (const scenario of scenarios) {
    const used = free.filter(
      ({ name }) => scenario.keep?.test(name) || !scenario.without.some((one) => one.test(name)),
    );
    const base = merge(merge(defaults, everything), valuesOf(scenario));
    const render = (textOf) => {
      const values = structuredClone(base);
      for (const one of used) setText(values, one, textOf(one));
      return template(values, release);
    };
    let reference;
    check(`strings, ${scenario.name}: markers`, () => {
      const { status, stdout, output } = render(markerOf);
      if (status !== 0) return output;
      reference = objectsOf(stdout);
      for (const one of used) if (stdout.includes(markerOf(one))) printed.add(one.name);
      return undefined;
    });
    if (!reference) continue;
    check(`strings, ${scenario.name}: hostile strings arrive unchanged`, () => {
      for (let round = 0; round < rounds; round += 1) {
        const textOf = (one) => {
          const texts = acceptedStrings(one);
          return texts[(one.i + round * 7) % texts.length];
        };
        const { status, stdout, output } = render(textOf);
        if (status !== 0) return `round ${round}: ${output}`;
        const differences = compare(replaceMarkers(reference, used, textOf), objectsOf(stdout));
        if (differences.length > 0) return `round ${round}:\n${differences.slice(0, 20).join('\n')}`;
      }
      return undefined;
    });
  }
  check('strings: every string value is printed in a scenario', () => {
    const missing = free.filter(({ name }) => !printed.has(name) && !notPrinted.some((one) => one.test(name)));
    return missing.length === 0 ? undefined : missing.map(({ name }) => name).join('\n');
  });
  check('strings: a string that a value does not accept is refused with the name of the value', () => {
    const refused = strings.filter((one) => refusedString(one) !== undefined);
    const values = structuredClone(merge(defaults, everything));
    for (const one of refused) setText(values, one, refusedString(one));
    const { status, output } = template(values, release);
    if (status === 0) return 'it was rendered';
    const missing = refused.filter(({ path }) => !output.includes(`'/${path.join('/').replace(/KEY$/, 'kq')}`));
    return missing.length === 0 ? undefined : `${missing.map(({ name }) => name).join('\n')}\n${output}`;
  });
}

/** Enables everything that prints string values. */
const everything = {
  kafka: { partitions: 12, tls: { enabled: true }, sasl: { mechanism: 'scram-sha-512' } },
  cli: { podDisruptionBudget: { enabled: true } },
  monitoring: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true }, dashboards: { enabled: true } },
  extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'extra' } }],
  networkPolicy: { ingressPeers: [{ ipBlock: { cidr: '' } }] },
};

/** Returns a scenario's values. `each` is for every component. */
function valuesOf({ values: { each, ...values } }) {
  const components = ['gateway', 'auth', 'resources', 'webhooks', 'alerts', 'dashboard'];
  return merge(values, Object.fromEntries(components.map((name) => [name, each])));
}

function merge(under, over) {
  if (!isMap(under) || !isMap(over)) return over === undefined ? under : over;
  const names = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries([...names].map((name) => [name, merge(under[name], over[name])]));
}

/** Sets a string value, with its text in a map key too. */
function setText(values, one, text) {
  const path = one.path.map((part) => (part === 'KEY' ? keyOf(one, text) : part));
  let place = values;
  for (const [at, part] of path.slice(0, -1).entries()) {
    place[part] ??= typeof path[at + 1] === 'number' ? [] : {};
    place = place[part];
  }
  place[path.at(-1)] = text;
}

function keyOf(one, text) {
  const isMarker = text === markerOf(one);
  return one.fixedKey || isMarker ? keyMarkerOf(one) : `${text}${keyMarkerOf(one)}`;
}

function objectsOf(stdout) {
  const documents = parseAllDocuments(stdout, { version: '1.1', schema: 'yaml-1.1', merge: false });
  const broken = documents.flatMap(({ errors }) => errors);
  if (broken.length > 0) throw new Error(broken.map(({ message }) => message).join('\n'));
  return documents.map((one) => one.toJS()).filter(Boolean);
}

function replaceMarkers(objects, used, textOf) {
  const texts = new Map();
  for (const one of used) {
    texts.set(markerOf(one), textOf(one));
    if (one.path.includes('KEY')) texts.set(keyMarkerOf(one), keyOf(one, textOf(one)));
  }
  const escaped = [...texts.keys()].map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const found = new RegExp(escaped.join('|'), 'g');
  const replaceAll = (text) => text.replace(found, (one) => texts.get(one));
  const replaceIn = (value) => {
    if (typeof value === 'string') return replaceAll(value);
    if (Array.isArray(value)) return value.map(replaceIn);
    if (!isMap(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [replaceAll(key), replaceIn(one)]));
  };
  return objects.map(replaceIn);
}

/** Returns the differences of two lists of objects, without the checksums of settings. */
function compare(expected, found) {
  const differences = [];
  const walk = (a, b, path) => {
    if (/\/checksum~1/.test(path)) return;
    if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        walk(a[key], b[key], `${path}/${key.replaceAll('/', '~1')}`);
      }
    } else if (a !== b) differences.push(`${path}: ${JSON.stringify(b)} instead of ${JSON.stringify(a)}`);
  };
  const byName = (objects) => Object.fromEntries(objects.map((one) => [`${one.kind}/${one.metadata?.name}`, one]));
  walk(byName(expected), byName(found), '');
  return differences;
}

function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
