export { cutPage, makePageToken, type PageStart, readPageToken, tokensOf } from './paging.ts';
