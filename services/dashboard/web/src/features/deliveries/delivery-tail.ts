import type { Delivery } from '@rms/api';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { call, renewSession } from '../../api/client.ts';
import { type List, tenantPath, useTenant } from '../../api/tenant.ts';

/** Deliveries received from the stream, by ID. */
export type StreamedDeliveries = ReadonlyMap<string, { readonly delivery: Delivery; readonly atMs: number }>;

const maxStreamed = 300;
/** Minimum interval between list reloads after dropped events. */
const minReloadIntervalMs = 2_000;
/** Margin for events that arrived while the list was loading and may be newer than the list. */
const listLoadMarginMs = 3_000;
/** Delay before reconnecting after a rejected connection: too many streams, or the server is unreachable. */
const reconnectDelayMs = 15_000;
const noDeliveries: StreamedDeliveries = new Map();

/**
 * Streams the deliveries of this workspace and environment. The connection is closed while the page is hidden, because
 * browsers limit the number of connections. The list is reloaded whenever a stream opens, so that no change is lost.
 */
export function useDeliveryTail(enabled: boolean): { readonly isOpen: boolean; readonly streamed: StreamedDeliveries } {
  const { workspace, environment } = useTenant();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [streamed, setStreamed] = useState(noDeliveries);
  useEffect(() => {
    if (!enabled) return;
    let source: EventSource | undefined;
    let reloadedAtMs = 0;
    let reloadTimer: ReturnType<typeof setTimeout> | undefined;
    const reload = () => {
      reloadTimer = undefined;
      reloadedAtMs = Date.now();
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
        reload();
      });
      source.addEventListener('changed', ({ data }) =>
        setStreamed((before) => addDeliveries(before, JSON.parse(data))),
      );
      source.addEventListener('missed', () => {
        reloadTimer ??= setTimeout(reload, Math.max(0, reloadedAtMs + minReloadIntervalMs - Date.now()));
      });
      source.addEventListener('end', () => {
        close();
        void reconnect();
      });
      source.addEventListener('error', () => {
        setOpen(false);
        // EventSource reconnects automatically unless the server rejected the connection.
        if (source?.readyState !== EventSource.CLOSED) return;
        close();
        clearTimeout(reconnectTimer);
        reconnectTimer = setTimeout(openOrClose, reconnectDelayMs);
      });
    };
    /** After the session or the role ends: continues if the user has signed in again in another tab. */
    const reconnect = async () => {
      try {
        await renewSession();
        await call(tenantPath({ workspace, environment }, '/deliveries'));
      } catch {
        // Shows the sign-in page, another user's data, or the remaining permissions.
        location.reload();
        return;
      }
      if (!isStopped) openOrClose();
    };
    const openOrClose = () => {
      if (document.visibilityState === 'hidden') close();
      else if (!source) open();
    };
    let isStopped = false;
    let reconnectTimer: ReturnType<typeof setTimeout> | undefined;
    openOrClose();
    document.addEventListener('visibilitychange', openOrClose);
    return () => {
      isStopped = true;
      document.removeEventListener('visibilitychange', openOrClose);
      clearTimeout(reloadTimer);
      clearTimeout(reconnectTimer);
      close();
      setStreamed(noDeliveries);
    };
  }, [enabled, workspace, environment, client]);
  return { isOpen, streamed };
}

function addDeliveries(before: StreamedDeliveries, deliveries: readonly Delivery[]): StreamedDeliveries {
  const atMs = Date.now();
  const after = new Map(before);
  for (const delivery of deliveries) {
    after.delete(delivery.id);
    after.set(delivery.id, { delivery, atMs });
  }
  return new Map([...after].slice(-maxStreamed));
}

/**
 * Merges streamed deliveries into the first page of the list, newest first. Deliveries older than the page are not
 * added.
 */
export function mergeStreamed(
  { data, links }: Pick<List<Delivery>, 'data' | 'links'>,
  streamed: StreamedDeliveries,
  listedAtMs: number,
  matches: (of: Delivery) => boolean,
): Delivery[] {
  const merged = new Map(data.map((delivery) => [delivery.id, delivery]));
  const last = links.next === null ? '' : (data.at(-1)?.id ?? '');
  for (const [id, { delivery, atMs }] of streamed) {
    if (atMs <= listedAtMs - listLoadMarginMs || id < last) continue;
    if (matches(delivery)) merged.set(id, delivery);
    else merged.delete(id);
  }
  return [...merged.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}
