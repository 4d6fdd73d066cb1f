import type { ReactNode } from 'react';
import { Fragment, jsxs } from '../jsx/jsx-runtime.ts';

/** Creates a sentence with elements in it: rich`The circuit has been open since ${time}.` */
export function rich(texts: TemplateStringsArray, ...values: readonly ReactNode[]): ReactNode {
  return jsxs(Fragment, { children: texts.flatMap((text, index) => [text, values[index]]) });
}
