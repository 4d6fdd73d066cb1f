// Source of both generated clients: the operations and schemas of the OpenAPI document, with the names that the clients
// give them.

/** Names of schemas that would hide a global of TypeScript and Python. */
const renamed = { Error: 'ErrorDocument' };

/**
 * An operation.
 * @typedef {object} Operation
 * @property {string} name in snake case: `create`, `rotate_secret`
 * @property {string} method in upper case
 * @property {string} path with `{parameters}`
 * @property {string} text summary and description
 * @property {string[]} ids path parameters
 * @property {{ name: string, schema: object } | undefined} query
 * @property {{ schema: object, isRequired: boolean } | undefined} body
 * @property {object[]} results schemas of `data` in the successful responses; of the whole document in a list
 * @property {boolean} isList
 * @property {object} [item] schema of an item of a list
 * @property {boolean} isFeed a list that continues after a sequence
 * @property {boolean} hasIfMatch
 * @property {boolean} hasIfNoneMatch
 * @property {boolean} isKeyed takes an Idempotency-Key
 */

/**
 * Returns the operations by noun. Throws if two have the same name, or one has a form that the clients do not support.
 * @returns {Map<string, Operation[]>}
 */
export function operationsByNoun(document) {
  /** @type {Map<string, Operation[]>} */
  const found = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [noun, name] = operation['x-client-method'].split('.');
      const named = { name, ...operationOf(document, { path, method, operation }) };
      const others = found.get(noun) ?? [];
      if (others.some(({ name }) => name === named.name)) throw new Error(`two operations are ${noun}.${named.name}`);
      found.set(noun, [...others, named]);
    }
  }
  return found;
}

function operationOf(document, { path, method, operation }) {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const inPlace = (place) => parameters.filter((one) => one.in === place);
  const headers = inPlace('header').map(({ name }) => name);
  const query = inPlace('query');
  if (query.length > 0 && requestBody) throw new Error(`${operationId} has both a query and a body`);
  const schemas = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, response]) => response.content?.['application/json'].schema ?? []);
  const isList = schemas.some((schema) => 'links' in (resolve(document, schema).properties ?? {}));
  const results = schemas.map((schema) => (isList ? schema : resolve(document, schema).properties?.data));
  if (results.includes(undefined)) throw new Error(`a response of ${operationId} has no data`);
  return {
    method: method.toUpperCase(),
    path,
    text: [`${summary}.`, description].join(' '),
    ids: inPlace('path').map(({ name }) => name),
    query: query.length === 0 ? undefined : querySchema(operationId, query),
    body: requestBody && {
      schema: requestBody.content['application/json'].schema,
      isRequired: requestBody.required === true,
    },
    results,
    isList,
    item: isList ? resolve(document, schemas[0]).properties.data.items : undefined,
    isFeed: isList && query.some(({ name }) => name === 'after'),
    hasIfMatch: headers.includes('If-Match'),
    hasIfNoneMatch: headers.includes('If-None-Match'),
    isKeyed: headers.includes('Idempotency-Key'),
  };
}

function querySchema(operationId, parameters) {
  const properties = parameters.map(({ name, schema, description }) => [name, { ...schema, description }]);
  const required = parameters.filter((one) => one.required).map(({ name }) => name);
  const schema = { type: 'object', properties: Object.fromEntries(properties), required };
  return { name: `${operationId[0].toUpperCase()}${operationId.slice(1)}Query`, schema };
}

/** Returns the schemas of components by their names in the clients. */
export function namedSchemas(document) {
  return Object.entries(document.components.schemas).map(([name, schema]) => [renamed[name] ?? name, schema]);
}

/** Returns the schema, or its target if it is a reference. */
export function resolve(document, schema) {
  return schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema;
}

/** Returns the clients' name for the schema that a reference names; undefined for any other schema. */
export function referenceName({ $ref }) {
  const name = $ref?.split('/').at(-1);
  return renamed[name] ?? name;
}

/** Returns the schema names of the events that webhooks receive. */
export function eventNames(document) {
  const calls = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ callbacks = {} }) => Object.values(callbacks).flatMap((urls) => Object.values(urls)));
  return [...calls, ...Object.values(document.webhooks ?? {})].map(({ post }) =>
    referenceName(post.requestBody.content['application/json'].schema),
  );
}

/** Breaks a text into lines of at most `width` characters. */
export function wrap(text, width) {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length > width && lines.at(-1) !== '') lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

/** Returns a name in snake case in camel case: `rotate_secret` is `rotateSecret`. */
export function camelCase(name) {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** Returns a name in snake case in Pascal case: `api_keys` is `ApiKeys`. */
export function pascalCase(name) {
  return camelCase(`_${name}`);
}
