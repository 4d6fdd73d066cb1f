/** lz4js 0.2.0, which has no types. */
declare module 'lz4js' {
  /** Decompresses an LZ4 frame. */
  export function decompress(frame: Uint8Array): Uint8Array;
}
