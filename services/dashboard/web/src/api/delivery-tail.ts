import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { DeliveryDocument } from '../../../src/documents/delivery.ts';
import { tenantPath, useTenant } from './tenant.ts';

/** Deliveries as the stream has told them, by their ids. */
export type News = ReadonlyMap<string, { readonly delivery: DeliveryDocument; readonly atMs: number }>;

const mostNews = 300;
/** Who has missed much asks for the list again, at most so often. */
const askAgainMs = 2_000;
/** What was told so long before the list came may be newer than the list. */
const listTakesMs = 3_000;
/** After a refusal: the instance may have too many, or cannot be reached. */
const refusedMs = 15_000;
const none: News = new Map();

/**
 * Follows the deliveries of this workspace and environment as they come. One connection, and none while nobody looks:
 * browsers open only a few at once. Whenever it begins the list is asked for again, so that nothing is lost in between.
 */
export function useDeliveryTail(enabled: boolean): { readonly isOpen: boolean; readonly news: News } {
  const { workspace, environment } = useTenant();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [news, setNews] = useState(none);
  useEffect(() => {
    if (!enabled) return;
    let source: EventSource | undefined;
    let askedAtMs = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      timer = undefined;
      askedAtMs = Date.now();
      void client.invalidateQueries({ queryKey: ['tenant', workspace, environment, '/deliveries'] });
    };
    const close = () => {
      source?.close();
      source = undefined;
      setOpen(false);
    };
    const open = () => {
      source = new EventSource(tenantPath({ workspace, environment }, '/deliveries/tail'));
      source.addEventListener('open', () => {
        setOpen(true);
        ask();
      });
      source.addEventListener('changed', ({ data }) => setNews((before) => withNews(before, JSON.parse(data))));
      source.addEventListener('missed', () => {
        timer ??= setTimeout(ask, Math.max(0, askedAtMs + askAgainMs - Date.now()));
      });
      // The session or the role has ended: loading the page again shows what that means.
      source.addEventListener('end', () => {
        close();
        location.reload();
      });
      source.addEventListener('error', () => {
        setOpen(false);
        // It connects again by itself, unless it was refused.
        if (source?.readyState !== EventSource.CLOSED) return;
        close();
        clearTimeout(again);
        again = setTimeout(turn, refusedMs);
      });
    };
    const turn = () => {
      if (document.visibilityState === 'hidden') close();
      else if (!source) open();
    };
    let again: ReturnType<typeof setTimeout> | undefined;
    turn();
    document.addEventListener('visibilitychange', turn);
    return () => {
      document.removeEventListener('visibilitychange', turn);
      clearTimeout(timer);
      clearTimeout(again);
      close();
      setNews(none);
    };
  }, [enabled, workspace, environment, client]);
  return { isOpen, news };
}

function withNews(before: News, deliveries: readonly DeliveryDocument[]): News {
  const atMs = Date.now();
  const after = new Map(before);
  for (const delivery of deliveries) {
    after.delete(delivery.id);
    after.set(delivery.id, { delivery, atMs });
  }
  return new Map([...after].slice(-mostNews));
}

/** The first page of the list with what has come since, newest first. What lies behind the page stays there. */
export function mergeNews(
  { data, next }: { readonly data: readonly DeliveryDocument[]; readonly next: string | null },
  news: News,
  listedAtMs: number,
  matches: (of: DeliveryDocument) => boolean,
): DeliveryDocument[] {
  const merged = new Map(data.map((delivery) => [delivery.id, delivery]));
  const last = next === null ? '' : (data.at(-1)?.id ?? '');
  for (const [id, { delivery, atMs }] of news) {
    if (atMs <= listedAtMs - listTakesMs || id < last) continue;
    if (matches(delivery)) merged.set(id, delivery);
    else merged.delete(id);
  }
  return [...merged.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}
