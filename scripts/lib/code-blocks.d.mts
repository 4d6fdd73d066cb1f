/** Code block of a Markdown document. */
export interface CodeBlock {
  readonly language: string;
  readonly code: string;
  /** Line of the opening fence. */
  readonly line: number;
  /** Text of the HTML comment on the line before the fence, or ''. */
  readonly note: string;
}

/** Returns the code blocks of a Markdown text. */
export function codeBlocks(text: string): CodeBlock[];
