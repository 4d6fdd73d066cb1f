/**
 * Counts tenants' use of something limited: slots, connections, entries, bytes. A tenant can use at most its own limit,
 * so that part of the total remains for the others.
 */
export class FairShare {
  readonly #total: number;
  readonly #perTenant: number;
  readonly #shares = new Map<string, number>();
  #used = 0;

  constructor({ total = Number.POSITIVE_INFINITY, perTenant = Number.POSITIVE_INFINITY }) {
    this.#total = total;
    this.#perTenant = perTenant;
  }

  /** Usage by all tenants. */
  get used(): number {
    return this.#used;
  }

  /** Usage by a tenant. */
  of(tenant: string): number {
    return this.#shares.get(tenant) ?? 0;
  }

  /** Takes one more for a tenant, unless that exceeds a limit. Returns whether it did. */
  take(tenant: string): boolean {
    const share = this.of(tenant);
    if (this.#used >= this.#total || share >= this.#perTenant) return false;
    this.#shares.set(tenant, share + 1);
    this.#used += 1;
    return true;
  }

  /** Gives one back that the tenant has taken. */
  release(tenant: string): void {
    const rest = this.of(tenant) - 1;
    if (rest > 0) this.#shares.set(tenant, rest);
    else this.#shares.delete(tenant);
    this.#used -= 1;
  }

  clear(): void {
    this.#shares.clear();
    this.#used = 0;
  }
}
