import { createElement, Fragment, type ReactNode } from 'react';

/**
 * Returns a JSX element's properties in a form that survives the page's translation. Browsers replace text
 * nodes when they translate. React would then change a node that is no longer in the page, or fail to remove it or to
 * insert something before it. React replaces the whole content of an element if that is one text. So texts without
 * elements next to them become one text, and others get an element of their own.
 */
export function separateText<Props extends object>(type: unknown, props: Props): Props {
  const { children } = props as { children?: ReactNode };
  if (type === Fragment)
    return isText(children) || Array.isArray(children) ? { ...props, children: wrap([children].flat()) } : props;
  if (!Array.isArray(children) || !children.some(isText)) return props;
  const isPlain = children.every(
    (child) => isText(child) || child === null || child === undefined || typeof child === 'boolean',
  );
  return { ...props, children: isPlain ? children.filter(isText).join('') : wrap(children) };
}

/** Each text keeps its position, so that React recognizes the elements around it. Spaces alone are not translated. */
function wrap(children: readonly ReactNode[]): ReactNode[] {
  return children.map((child, index) =>
    isText(child) && String(child).trim() !== '' ? createElement('span', { key: index }, child) : child,
  );
}

function isText(child: unknown): child is string | number | bigint {
  return typeof child === 'string' || typeof child === 'number' || typeof child === 'bigint';
}
