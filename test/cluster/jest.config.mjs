import root from '../../jest.config.mjs';

/** Separate from the other suites: needs a cluster. Run by `npm run test:cluster`. */
export default { ...root, rootDir: '../..', roots: ['<rootDir>/test/cluster'], testPathIgnorePatterns: [] };
