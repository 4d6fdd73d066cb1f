// String values of the Helm chart: where they are, and strings that a template could change.

/** Strings that YAML reads as another type, or that end, escape or fold a badly quoted scalar. */
export const hostileStrings = [
  ...['0123', '0x1f', '1e3', '1_000', '29111998', '1.10', '12:30:45', '.inf', '2026-01-02', '-1'],
  ...['null', '~', 'yes', 'No', 'on', 'true', '=', '<<'],
  ...['*app', '&app', '!app', '%app', '@app', '`app`', '|', '>', '>-', '---', '...', '- a', '? a', '{a}', '[a]', ','],
  ...['a #b', '#a', 'a: b', 'a:', ':a', '"a"', "it's", "''", '\\', '\\n', 'a\\u0041'],
  ...['{{', '}}', '{{ .Release.Name }}', '{{ fail "evaluated" }}', '$a $(b)', '%s %d'],
  ...['a\nb', '\na', 'a\n', 'a\n\n', '\n', 'a\r\nb', 'a\n  b: c\n- d', '\ta', 'a\t', ' a', 'a ', ' ', '  a\n b'],
  ...['Grüße 😀', '\u00a0', '\u2028', '\u0085', '\u007f', '\u0001', '\u001b[31m', '\ufeffa', '<&>', 'Error: x'],
  `${'long text that a writer could fold '.repeat(12)}`,
];

/**
 * Hostile but valid strings per pattern of the schema, for patterns that few of the strings above match. `i` makes the
 * strings of different values differ.
 */
const validStrings = {
  '^$|^[a-z0-9]([a-z0-9-]*[a-z0-9])?$': () => ['123', '0123', '1e3', 'null', 'yes'],
  '^$|^[a-z]([a-z0-9-]*[a-z0-9])?$': () => ['null', 'yes', 'true', 'y'],
  '^$|^sha256:[0-9a-f]{64}$': (i) => [`sha256:${`${i}`.padStart(64, '0')}`],
  '^$|^[^\\s,:]+:[0-9]+(,[^\\s,:]+:[0-9]+)*$': () => ['*app:1', '{{x}}:9092', '"a":1,\'b\':2', 'null:1', '0:0', '#a:1'],
  '^[a-z][a-z0-9_]{0,39}$': () => ['null', 'yes', 'e_1'],
  '^$|^[^<>]*<[^<>@\\s]+@[^<>@\\s]+>$|^[^<>@\\s]+@[^<>@\\s]+$': () => [
    '*app #b: {{ x }} "a" <a@b>',
    "it's <a@b>",
    ' a\nb <null@b>',
    '{{x}}@b',
  ],
  '^(@[a-z]+|(\\S+\\s+){4}\\S+)$': () => ['* * * * *', '@null', '*/5 0123 {{x}} "a": #b'],
  '^([0-9]+h)?([0-9]+m)?([0-9]+s)?$': (i) => [`${i}h`, `0${i}h`, '0h0m0s'],
  '^([0-9]+(ms|s|m|h))+$': (i) => [`${i}s`, `0${i}s`, '0h0m'],
  '^$|^https?://\\S+$': (i) => [`https://a${i}/*b,c:{{d}}"'#e`, `https://0${i}`, `https://a${i}/#b?c=[d]&e={f}`],
  '^https?://[^\\s,;/]+$': (i) => [`https://a${i}.test:8443`, `http://{{b}}"'#${i}`],
  '^$|^(0(\\.[0-9]+)?|1(\\.0+)?)$': () => ['0', '1', '0.10', '1.0'],
  '^$|^(\\*\\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$': (i) => [
    ...[`*.a${i}`, `0${i}`, `${i}.5`, `${i}e3`, `null.${i}`],
  ],
  '^/': () => ['/*a #b', '/: {{ x }}', '/"\'\n', '/ '],
  '^[0-9a-fA-F:.]+/[0-9]{1,3}$': (i) => [`fd00::${i}/128`, '0:0/0', '1:2/3', `10.0.0.${i % 256}/32`],
  '^[0-9]+%$': () => ['0%', '025%', '100%'],
};

/** A harmless string per value that its pattern accepts and that occurs nowhere else. */
const markersByPattern = {
  '^$|^sha256:[0-9a-f]{64}$': (i) => `sha256:${`${i}`.padStart(64, '7')}`,
  '^$|^[^\\s,:]+:[0-9]+(,[^\\s,:]+:[0-9]+)*$': (i) => `${marker(i)}:1`,
  '^$|^[^<>]*<[^<>@\\s]+@[^<>@\\s]+>$|^[^<>@\\s]+@[^<>@\\s]+$': (i) => `${marker(i)}@a`,
  '^(@[a-z]+|(\\S+\\s+){4}\\S+)$': (i) => `1 2 3 4 ${marker(i)}`,
  '^([0-9]+h)?([0-9]+m)?([0-9]+s)?$': (i) => `7707${i}h`,
  '^([0-9]+(ms|s|m|h))+$': (i) => `7707${i}s`,
  '^$|^https?://\\S+$': (i) => `https://${marker(i)}`,
  '^https?://[^\\s,;/]+$': (i) => `https://${marker(i)}`,
  '^$|^(0(\\.[0-9]+)?|1(\\.0+)?)$': (i) => `0.7707${i}`,
  '^/': (i) => `/${marker(i)}`,
  '^[0-9a-fA-F:.]+/[0-9]{1,3}$': (i) => `7707:${i}::/64`,
  '^[0-9]+%$': (i) => `7707${i}%`,
};

/**
 * Lists the string values of a schema. A map or a list is represented by one entry, and an object of any shape by the
 * field "any". `fixedKey`: the map's keys have a pattern.
 */
export function stringValues(schema) {
  const values = [];
  const walk = (part, path) => {
    const it = part.$ref ? schema.definitions[part.$ref.replace('#/definitions/', '')] : part;
    const types = [it.type].flat();
    if (it.enum) values.push({ path, choices: it.enum });
    else if (types.includes('object')) {
      if (it.properties) for (const [name, one] of Object.entries(it.properties)) walk(one, [...path, name]);
      else if (it.additionalProperties) {
        values.push({ path: [...path, 'KEY'], fixedKey: 'propertyNames' in it, ...it.additionalProperties });
      } else values.push({ path: [...path, 'any'], type: 'string' });
    } else if (types.includes('array')) walk(it.items, [...path, 0]);
    else if (types.includes('string')) values.push({ path, ...it });
  };
  for (const [name, part] of Object.entries(schema.properties)) if (name !== 'global') walk(part, [name]);
  return values.map((value, i) => ({ ...value, i, name: nameOf(value.path) }));
}

/** Returns a value's strings that the chart must pass on unchanged. */
export function acceptedStrings({ i, pattern, name }) {
  if (!pattern) return hostileStrings;
  const own = validStrings[pattern]?.(i) ?? [];
  const all = [...own, ...hostileStrings.filter((text) => own.length === 0 && new RegExp(pattern, 'u').test(text))];
  if (all.length === 0) throw new Error(`${name}: add valid strings for ${pattern} to scripts/lib/chart-strings.mjs`);
  return all;
}

/** Returns a string that the schema must refuse for a value; undefined if it accepts every string. */
export function refusedString({ pattern, choices }) {
  if (choices) return '*app';
  return pattern && hostileStrings.find((text) => !new RegExp(pattern, 'u').test(text));
}

/** A text that occurs nowhere else. */
function marker(i) {
  return `zq${`${i}`.padStart(3, '0')}`;
}

export function markerOf({ i, pattern }) {
  return markersByPattern[pattern]?.(i) ?? marker(i);
}

/** The unique end of a key: later maps override equal keys of earlier ones. */
export function keyMarkerOf({ i, fixedKey }) {
  return fixedKey ? `X_${i}` : `kq${`${i}`.padStart(3, '0')}`;
}

function nameOf(path) {
  return path.filter((part) => part !== 'KEY' && part !== 'any' && part !== 0).join('.');
}
