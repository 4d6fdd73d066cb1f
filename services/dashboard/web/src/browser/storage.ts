/** Texts by name. Where the browser refuses to store them, or has no room, they last until the user leaves the page. */
export interface TextStorage {
  get(name: string): string | null;
  set(name: string, text: string): void;
  remove(name: string): void;
}

/** Shared by the tabs of this origin, and kept when the browser is closed. */
export const browserStorage = openStorage(() => localStorage);

/** Of this tab, until it is closed. */
export const tabStorage = openStorage(() => sessionStorage);

/** @param open throws where a browser setting forbids storage */
function openStorage(open: () => Storage): TextStorage {
  const unstored = new Map<string, string>();
  const tried = <T>(action: (storage: Storage) => T): T | undefined => {
    try {
      return action(open());
    } catch {
      return undefined;
    }
  };
  return {
    get: (name) => unstored.get(name) ?? tried((storage) => storage.getItem(name)) ?? null,
    set(name, text) {
      unstored.set(name, text);
      tried((storage) => {
        storage.setItem(name, text);
        unstored.delete(name);
      });
    },
    remove(name) {
      unstored.delete(name);
      tried((storage) => storage.removeItem(name));
    },
  };
}
