import { parseParameters } from './parameters.ts';

const form = /^([!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+)[ \t]*(?:;(.*))?$/s;

export interface MediaType {
  /** "application/json", in lower case. */
  readonly name: string;
  /** By lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Parses a media type (RFC 9110, 8.3.1); undefined if the text is malformed or repeats a parameter. */
export function parseMediaType(text: string): MediaType | undefined {
  const [, name, rest = ''] = form.exec(text) ?? [];
  const parameters = parseParameters(rest);
  return name === undefined || !parameters ? undefined : { name: name.toLowerCase(), parameters };
}
