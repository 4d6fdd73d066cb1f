export type { WorkspaceContents, WorkspaceTable } from './contents.ts';
export { checkWorkspaceId, deleteContents } from './delete-contents.ts';
export { sweepDeletedWorkspaces } from './sweep.ts';
