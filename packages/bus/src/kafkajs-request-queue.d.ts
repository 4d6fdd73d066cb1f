/** Internal request queue of a kafkajs 2.2.4 connection; not part of its public interface. */
declare module 'kafkajs/src/network/requestQueue/index.js' {
  interface RequestQueue {
    readonly pending: readonly unknown[];
    scheduleCheckPendingRequests(): void;
  }
  const RequestQueue: { readonly prototype: RequestQueue };
  export = RequestQueue;
}
