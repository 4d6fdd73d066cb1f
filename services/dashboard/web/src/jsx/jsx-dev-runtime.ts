import type { ElementType, Key, ReactElement } from 'react';
import { jsxDEV as createElement, type JSXSource } from 'react/jsx-dev-runtime';
import { separateText } from './separate-text.ts';

export type { JSX } from 'react/jsx-runtime';
export { Fragment } from 'react/jsx-runtime';

/** Creates the elements of JSX under `npm run dev`; see jsx-runtime.ts. */
export function jsxDEV(
  type: ElementType,
  props: object,
  key: Key | undefined,
  isStatic: boolean,
  source?: JSXSource,
  self?: unknown,
): ReactElement {
  return createElement(type, separateText(type, props), key, isStatic, source, self);
}
