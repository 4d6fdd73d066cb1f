/** One service's schema and the folder of its numbered SQL files. */
export interface Migration {
  readonly schema: string;
  /** Absolute path; files are named "0001-what-it-does.sql". */
  readonly directory: string;
}
