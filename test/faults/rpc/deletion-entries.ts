import { newId } from '@rms/base/ids';
import { type Entries, ofInstallation } from './entry.ts';

const why = 'an operator deletes a workspace';
const none = { deleted: {}, nextPageToken: '' };

/** Calls with a workspace that does not exist, and without one; neither may reach the rows of others. */
const onlyOfGiven = (outcome: object) => () =>
  [
    [{ workspaceId: newId('ws') }, outcome],
    [{ workspaceId: '' }, 'invalid_request'],
  ] as const;

export const deletionEntries: Entries<'alertsDeletion' | 'authDeletion' | 'resourcesDeletion' | 'webhooksDeletion'> = {
  alertsDeletion: { deleteContents: ofInstallation(why, onlyOfGiven(none)) },
  resourcesDeletion: {
    countContents: ofInstallation(why, onlyOfGiven({ counts: { resources: 0n } })),
    deleteContents: ofInstallation(why, onlyOfGiven(none)),
  },
  webhooksDeletion: {
    countContents: ofInstallation(why, onlyOfGiven({ counts: { webhooks: 0n } })),
    deleteContents: ofInstallation(why, onlyOfGiven(none)),
  },
  authDeletion: {
    countContents: ofInstallation(why, onlyOfGiven({ counts: { keys: 0n, members: 0n, invitations: 0n } })),
    beginDeletion: ofInstallation(why, ({ owner: { workspaceId } }) => [
      [{ workspaceId: newId('ws') }, 'not_found'],
      [{ workspaceId, onlyIfEmpty: true }, 'conflict'],
    ]),
    deleteContents: ofInstallation(why, ({ owner: { workspaceId } }) => [
      ...onlyOfGiven(none)(),
      [{ workspaceId }, 'conflict'],
    ]),
    completeDeletion: ofInstallation(why, ({ owner: { workspaceId } }) => [
      [{ workspaceId: newId('ws') }, 'not_found'],
      [{ workspaceId }, 'conflict'],
    ]),
  },
};
