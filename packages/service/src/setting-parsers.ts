/** How the text of an environment variable is read. Each throws an error that says what is wrong with it. */

export function text(value: string): string {
  return value;
}

export function name(value: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(value))
    throw new Error(`"${value}" is not a name of letters, digits, "_" and "-"`);
  return value;
}

export function email(value: string): string {
  if (!/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}$/.test(value))
    throw new Error(`"${value}" is not an e-mail address`);
  return value;
}

/** First part of PostgreSQL role names, which are never quoted; undefined for "none". */
export function roleName(value: string): string | undefined {
  if (value === 'none') return undefined;
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(value))
    throw new Error(`"${value}" is no lower-case name of letters, digits and "_"`);
  return value;
}

/** "127.0.0.1:9464", "[::]:9464"; undefined if empty. */
export function hostPort(value: string): { host: string; port: number } | undefined {
  if (value === '') return undefined;
  const [, host = '', number = ''] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):(\d+)$/.exec(value) ?? [];
  if (host === '') throw new Error(`"${value}" is not "host:port"`);
  return { host: host.replace(/^\[|\]$/g, ''), port: portOrZero(number) };
}

/** A gRPC target; undefined: none. */
export function targetOrNone(value: string): string | undefined {
  return value === 'none' ? undefined : value;
}

export function list(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

export function flag(value: string): boolean {
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new Error(`"${value}" is neither true nor false`);
}

export function integer(least: number, most: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
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

export function oneOf<T extends string>(...choices: T[]) {
  return (value: string): T => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`"${value}" is none of ${choices.join(', ')}`);
    return choice;
  };
}

export function optionalUrl(value: string): string | undefined {
  if (value === '') return undefined;
  if (!URL.canParse(value) || !/^https?:/i.test(value)) throw new Error(`"${value}" is not an http(s) URL`);
  return new URL(value).href.replace(/\/+$/, '');
}

/** A URL of one of these schemes, or empty. It holds a password: what is wrong with it is told without it. */
export function secretUrl(...schemes: string[]) {
  return (value: string): string => {
    if (value === '') return value;
    const scheme = /^([a-z]+):\/\//i.exec(value)?.[1]?.toLowerCase() ?? '';
    if (URL.canParse(value) && schemes.includes(scheme)) {
      // With a "/", "?" or "#" in the password that is not escaped, a part of it would be taken for the host.
      const { pathname, search, hash } = new URL(value);
      if (!`${pathname}${search}${hash}`.includes('@')) return value;
    }
    throw new Error(`is no URL that begins with ${schemes.map((name) => `${name}://`).join(' or ')}`);
  };
}
