/** At most so many webhooks of a workspace are asked in one turn, so that a turn costs the same however many there are. */
const asked = 32;

/** Webhooks that wait for what their workspace shares: they take turns within it, and workspaces take turns as well. */
export class Turns {
  readonly #workspaces = new Map<string, Set<string>>();

  add(workspaceId: string, webhookId: string): void {
    const webhooks = this.#workspaces.get(workspaceId);
    if (webhooks) webhooks.add(webhookId);
    else this.#workspaces.set(workspaceId, new Set([webhookId]));
  }

  delete(workspaceId: string, webhookId: string): void {
    const webhooks = this.#workspaces.get(workspaceId);
    if (webhooks?.delete(webhookId) && webhooks.size === 0) this.#workspaces.delete(workspaceId);
  }

  /** Takes out those whose turn it is: of this workspace, which has something free, and of the one that waits longest. */
  next(workspaceId: string): string[] {
    const [longest] = this.#workspaces.keys();
    const turns = new Set([workspaceId, ...(longest === undefined ? [] : [longest])]);
    return [...turns].flatMap((id) => this.#takeTurn(id));
  }

  #takeTurn(workspaceId: string): string[] {
    const webhooks = this.#workspaces.get(workspaceId);
    if (!webhooks) return [];
    this.#workspaces.delete(workspaceId);
    const turn: string[] = [];
    for (const webhookId of webhooks) {
      if (turn.length === asked) break;
      turn.push(webhookId);
      webhooks.delete(webhookId);
    }
    if (webhooks.size > 0) this.#workspaces.set(workspaceId, webhooks);
    return turn;
  }
}
