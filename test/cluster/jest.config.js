import root from '../../jest.config.js';

const [project] = root.projects;

/** Separate from the other suites: needs a cluster. Run by `npm run test:cluster`. @type {import('jest').Config} */
export default {
  ...root,
  rootDir: root.projects[0].rootDir,
  projects: [{ ...project, displayName: 'cluster', roots: ['<rootDir>/test/cluster'] }],
};
