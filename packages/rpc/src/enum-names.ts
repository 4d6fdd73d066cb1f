/** Names of an enum's values as in documents and tables: in lower case, without "unspecified". */
export interface EnumNames<Name extends string, Value extends number> {
  /** In the proto file's order. */
  readonly names: readonly Name[];
  toValue(name: Name): Value;
  /** Undefined for an unspecified or unknown value. */
  toName(value: Value): Name | undefined;
}

/** @param values a generated enum without the prefix of its values: { UNSPECIFIED: 0, LIVE: 1, … } */
export function enumNames<Enum extends Readonly<Record<string, string | number>>>(
  values: Enum,
): EnumNames<Exclude<Lowercase<keyof Enum & string>, 'unspecified'>, Extract<Enum[keyof Enum], number>> {
  type Name = Exclude<Lowercase<keyof Enum & string>, 'unspecified'>;
  type Value = Extract<Enum[keyof Enum], number>;
  const byName = new Map<Name, Value>();
  const byValue = new Map<Value, Name>();
  // TypeScript enums also contain the reverse mapping from numbers.
  for (const [text, value] of Object.entries(values)) {
    if (typeof value !== 'number' || text === 'UNSPECIFIED') continue;
    byName.set(text.toLowerCase() as Name, value as Value);
    byValue.set(value as Value, text.toLowerCase() as Name);
  }
  return {
    names: [...byName.keys()],
    toValue(name) {
      const value = byName.get(name);
      if (value === undefined) throw new TypeError(`no value is named ${name}`);
      return value;
    },
    toName: (value) => byValue.get(value),
  };
}
