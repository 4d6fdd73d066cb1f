/** Parsers of environment variables. Each throws an error with the reason if the text is invalid. */

export function text(value: string): string {
  return value;
}

export function name(value: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(value))
    throw new Error(`"${value}" is not a name; use letters, digits, "_" and "-"`);
  return value;
}

/** Parses the name of a claim, which can be a URL. */
export function claim(value: string): string {
  if (!/^[!-~]{1,200}$/.test(value)) throw new Error(`"${value}" is not the name of a claim`);
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

/** Parses "127.0.0.1:9464" or "[::]:9464"; undefined if empty. */
export function hostPort(value: string): { host: string; port: number } | undefined {
  if (value === '') return undefined;
  const [, host = '', number = ''] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):(\d+)$/.exec(value) ?? [];
  if (host === '') throw new Error(`"${value}" is not "host:port"; use for example 127.0.0.1:9464`);
  return { host: host.replace(/^\[|\]$/g, ''), port: portOrZero(number) };
}

/** Parses a gRPC target; undefined for "none". */
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
  throw new Error(`"${value}" is not a flag; use true or false`);
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
    if (choice === undefined) throw new Error(`"${value}" is not one of ${choices.join(', ')}`);
    return choice;
  };
}

export function optionalUrl(value: string): string | undefined {
  if (value === '') return undefined;
  if (!URL.canParse(value) || !/^https?:/i.test(value))
    throw new Error(`"${value}" is not a URL that starts with http:// or https://`);
  return new URL(value).href.replace(/\/+$/, '');
}

/** Parses a URL with one of these schemes, or an empty text. The URL contains a password, so error messages omit it. */
export function secretUrl(...schemes: string[]) {
  return (value: string): string => {
    if (value === '') return value;
    const scheme = /^([a-z]+):\/\//i.exec(value)?.[1]?.toLowerCase() ?? '';
    if (URL.canParse(value) && schemes.includes(scheme)) {
      // An unescaped "/", "?" or "#" in the password would make a part of it the host.
      const { pathname, search, hash } = new URL(value);
      if (!`${pathname}${search}${hash}`.includes('@')) return value;
      throw new Error('has an unescaped "/", "?" or "#" in the password; percent-encode it (%2F, %3F, %23)');
    }
    throw new Error(`is not a URL that starts with ${schemes.map((name) => `${name}://`).join(' or ')}`);
  };
}
