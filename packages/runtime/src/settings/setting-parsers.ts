import { isIP } from 'node:net';
import { normalizeCidr } from '@rms/base/cidr';

/**
 * Parsers of environment variables, one per kind of value. Each accepts one spelling of a value, and throws an
 * error with the value and the accepted form otherwise: empty parts of a list, blanks, signs, exponents, hexadecimal
 * numbers and leading zeros are typing errors. Their most likely meaning must not be guessed.
 */

/** Parses any text. {@link checkText} applies to all settings. */
export function text(value: string): string {
  return value;
}

/** Throws if a value begins or ends with a blank, or contains a line break or another control character. */
export function checkText(value: string): void {
  // A Kubernetes Secret that is created from the output of `echo` ends with a line break.
  if (/[\r\n]$/.test(value)) throw new Error('ends with a line break; remove it, for example with "echo -n"');
  if (value !== value.trim()) throw new Error('begins or ends with a blank');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern detects them
  if (/[\u0000-\u001f\u007f]/.test(value)) throw new Error('contains a line break or another control character');
}

export function name(value: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(value))
    throw new Error(`"${value}" is not a name; use letters, digits, "_" and "-"`);
  return value;
}

/** Parses a claim's name, which can be a URL. */
export function claim(value: string): string {
  if (!/^[!-~]{1,200}$/.test(value)) throw new Error(`"${value}" is not the name of a claim`);
  return value;
}

/** Parses a domain name or an address literal (RFC 5321, 4.1.3): "mail.example.com", "[192.0.2.1]"; empty: none. */
export function ehloName(value: string): string {
  if (
    value !== '' &&
    !/^(?:(?=.{1,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[(?!127\.)(?:[\d.]{7,15}|IPv6:[\da-f:.]{2,45})\])$/i.test(value)
  )
    throw new Error(`"${value}" is neither a domain name nor an address in brackets`);
  return value;
}

export function email(value: string): string {
  if (!/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}$/.test(value))
    throw new Error(`"${value}" is not an email address`);
  return value;
}

/** Parses the prefix of PostgreSQL role names, which are never quoted; undefined for "none". */
export function roleName(value: string): string | undefined {
  if (value === 'none') return undefined;
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(value))
    throw new Error(`"${value}" is not a lower-case name; use letters, digits and "_"`);
  return value;
}

/** Parses the address that a listener binds to: an IP address without brackets, or a host name. */
export function bindAddress(value: string): string {
  if (isIP(value) === 0 && !isHostName(value))
    throw new Error(`"${value}" is not an address; use for example 127.0.0.1, :: or a host name`);
  return value;
}

/** Parses "127.0.0.1:9464" or "[::]:9464"; undefined if empty. */
export function hostPort(value: string): { host: string; port: number } | undefined {
  if (value === '') return undefined;
  const { host, port: number = '' } = splitHostPort(value);
  if (!isHost(host) || (number !== '0' && !isPort(number)))
    throw new Error(`"${value}" is not "host:port"; use for example 127.0.0.1:9464`);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(number) };
}

/** Parses a list of "host:port". */
export function hostPorts(value: string): string[] {
  return listOf('host:port,host:port', (item) => {
    const { host, port: number = '' } = splitHostPort(item);
    return isHost(host) && isPort(number);
  })(value);
}

/** Parses a gRPC target: "host:port", or with a scheme "dns:///host:port". */
export function target(value: string): string {
  const [, address = ''] = /^(?:(?:dns|ipv4|ipv6):(?:\/\/[^/\s]*\/)?)?([^/\s]+)$/.exec(value) ?? [];
  const { host, port: number = '' } = splitHostPort(address);
  if (!isHost(host) || !isPort(number))
    throw new Error(`"${value}" is not a gRPC target; use for example auth:9101 or dns:///auth:9101`);
  return value;
}

/** Parses a gRPC target; undefined for "none". */
export function targetOrNone(value: string): string | undefined {
  return value === 'none' ? undefined : target(value);
}

/** Parses a list of addresses and networks, "10.0.0.0/8,fd00::/8". */
export function cidrs(value: string): string[] {
  const items = listOf('10.0.0.0/8,fd00::/8', isNetwork)(value);
  for (const item of items) {
    const normal = normalizeCidr(item) ?? '';
    if (![item, `${item}/32`, `${item}/128`].includes(normal))
      throw new Error(`"${item}" is not in normal form; use ${normal}`);
  }
  return items;
}

/** Parses a list of port numbers. */
export const ports = listOf('8443,9443', isPort);

/** Parses a list of DNS servers, "192.0.2.1,[2001:db8::1]:53". */
export const dnsServers = listOf('192.0.2.1,[2001:db8::1]:53', (item) => {
  if (isIP(item) !== 0) return true;
  const { host, port: number = '' } = splitHostPort(item);
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0 && isPort(number);
});

/** Parses a list in the syntax of NO_PROXY, see docs/settings.md. */
export const proxyExemptions = listOf('localhost,.example.com,10.0.0.0/8', (item) => {
  if (item === '*' || isNetwork(item)) return true;
  const { host, port: number } = splitHostPort(item);
  if (number !== undefined && !isPort(number)) return false;
  return host === '*' || isHost(host.replace(/^\*?\./, '')) || (number === undefined && isNetwork(host));
});

/** Returns a parser for lists with items that satisfy `isItem`. `example` is a valid list, for messages. */
function listOf(example: string, isItem: (item: string) => boolean) {
  return (value: string): string[] => {
    if (value === '') return [];
    const items = value.split(',');
    for (const item of items) {
      if (item === '' || /\s/.test(item))
        throw new Error(`"${value}" has an empty part or a blank; use for example ${example}`);
      if (!isItem(item)) throw new Error(`"${item}" is not valid; use for example ${example}`);
    }
    return items;
  };
}

export function flag(value: string): boolean {
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new Error(`"${value}" is not a flag; use true or false`);
}

export function integer(least: number, most: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!/^(?:0|[1-9]\d*)$/.test(value) || number < least || number > most) {
      throw new Error(`"${value}" is not a whole number from ${least} to ${most}`);
    }
    return number;
  };
}

export function port(value: string): number {
  return integer(1, 65_535)(value);
}

export function portOrZero(value: string): number {
  return integer(0, 65_535)(value);
}

/** Parses a share, 0 to 1. */
export function share(value: string): number {
  if (!/^(?:0|1|0\.\d{1,15}|1\.0{1,15})$/.test(value)) throw new Error(`"${value}" is not a number from 0 to 1`);
  return Number(value);
}

export function oneOf<T extends string>(...choices: T[]) {
  return (value: string): T => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`"${value}" is not one of ${choices.join(', ')}`);
    return choice;
  };
}

/** Parses a base URL; undefined if empty. Trailing slashes are removed. */
export function optionalUrl(value: string): string | undefined {
  if (value === '') return undefined;
  if (!/^https?:\/\/[^/\s]/i.test(value) || !URL.canParse(value))
    throw new Error(`"${value}" is not a URL that starts with http:// or https://`);
  const { href } = new URL(value);
  if (withoutSlashes(href) !== withoutSlashes(value)) throw new Error(`"${value}" is not in normal form; use ${href}`);
  return withoutSlashes(href);
}

/** Parses a URL without a path; undefined if empty. Trailing slashes are removed. */
export function optionalOrigin(value: string): string | undefined {
  const url = optionalUrl(value);
  if (url !== undefined && url !== new URL(url).origin)
    throw new Error(`"${value}" has more than a scheme, a host and a port`);
  return url;
}

/** Parses a list of origins. Their characters cannot end a source of a Content Security Policy. */
export const origins = listOf(
  'https://app.example.com,https://intranet.example.com:8443',
  (item) => /^https?:\/\/[\w.:[\]-]+$/.test(item) && URL.parse(item)?.origin === item,
);

/**
 * Parses the URL of an OpenID Connect provider; undefined if empty. A final slash is a part of its name: some providers
 * have one.
 */
export function issuer(value: string): string | undefined {
  return optionalUrl(value) && value;
}

/** Parses a URL that contains `placeholder`; undefined if empty. */
export function urlTemplate(placeholder: string) {
  return (value: string): string | undefined => {
    if (value === '') return undefined;
    if (!/^https?:\/\/[^/\s]+\/\S*$/.test(value) || !value.includes(placeholder))
      throw new Error(`"${value}" is not an http(s) URL that contains ${placeholder}`);
    return value;
  };
}

/** Parses a URL with one of these schemes, or an empty text. The URL contains a password, so error messages omit it. */
export function secretUrl(...schemes: string[]) {
  return (value: string): string => {
    if (value === '') return value;
    const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.*)$/.exec(value) ?? [];
    if (!schemes.includes(scheme)) {
      throw new Error(`is not a URL that starts with ${schemes.map((name) => `${name}://`).join(' or ')}`);
    }
    // An unescaped "/", "?" or "#" in the password would make a part of it the host.
    if (/^[^/?#]*[/?#].*@/.test(rest)) {
      throw new Error('has an unescaped "/", "?" or "#" in the password; percent-encode it (%2F, %3F, %23)');
    }
    // A Unix socket's host is a parameter: postgres://user:password@/database?host=/folder.
    const [address = '', parameters = ''] = value.split(/\?(.*)/, 2);
    const isSocket = address.includes('@/') && /(?:^|&)host=(?:\/|%2F)/i.test(parameters);
    if (/\s/.test(value) || !(URL.canParse(value) || isSocket)) {
      throw new Error(`is not a valid URL; use ${scheme}://user:password@host:port, with the password percent-encoded`);
    }
    return value;
  };
}

/** Parses keys of 32 bytes in base64 or base64url. Error messages omit them. */
export const keys = (value: string): string[] => {
  if (value === '') return [];
  const items = value.split(',');
  for (const item of items) {
    if (item === '') throw new Error('has an empty part; use "key,key"');
    key(item);
  }
  return items;
};

/** Parses a key of 32 bytes in base64 or base64url, or an empty text. Error messages omit it. */
export function key(value: string): string {
  // 43 characters have 258 bits; the last two must be 0. Node ignores them, so other spellings are the same key.
  if (value === '' || /^[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?$/.test(value)) return value;
  const isShort = /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) && Buffer.from(value, 'base64').length < 32;
  throw new Error(
    `must be 32 bytes in base64${isShort ? ', and is too short' : ''}; generate a key with: openssl rand -base64 32`,
  );
}

function withoutSlashes(url: string): string {
  return url.replace(/(?<!\/)\/+$/, '');
}

function splitHostPort(value: string): { host: string; port?: string } {
  const [, host = '', number] = /^(\[[^\]]*\]|[^:]*):([^:]*)$/.exec(value) ?? [];
  return number === undefined ? { host: value } : { host, port: number };
}

/** Returns whether a text is a host name, an IPv4 address, or an IPv6 address in brackets. */
function isHost(value: string): boolean {
  if (value.startsWith('[') && value.endsWith(']')) return isIP(value.slice(1, -1)) === 6;
  return isHostName(value);
}

/**
 * A name with a number as its last label is an IPv4 address; resolvers read "10.1", "010.0.0.1" and "0x7f.1"
 * differently.
 */
function isHostName(value: string): boolean {
  if (/(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i.test(value)) return isIP(value) === 4;
  const labels = value.replace(/\.$/, '').split('.');
  return value.length <= 253 && labels.every((label) => /^\w(?:[\w-]{0,61}\w)?$/.test(label));
}

function isPort(value: string): boolean {
  return /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535;
}

function isNetwork(value: string): boolean {
  return normalizeCidr(value) !== undefined;
}
