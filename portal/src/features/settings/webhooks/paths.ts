// Customers and the team have the same operations under two paths.
import { list, read, send, type Read, type Schema } from '$api';

export type Endpoint = Schema<'WebhookEndpoint'>;
export type Delivery = Schema<'WebhookDelivery'>;
export type Selector = Schema<'EventSelector'>;
type One = { path: { id: string } };
type Change<B = undefined> = One & { key?: string; etag?: string } & (B extends undefined ? object : { body: B });
type DeliveryPath = { path: { id: string; delivery_id: string } };

/** The screens of whichever side, and what they call. */
export function webhookPaths(isTeam: boolean) {
  return {
    home: isTeam ? '/team/webhooks' : '/settings/webhooks',
    events: isTeam ? '/team/events' : '/settings/events',
    stale: isTeam ? '/admin/webhook-endpoints' : '/webhook-endpoints',
    list: () => (isTeam ? list('/admin/webhook-endpoints') : list('/webhook-endpoints')),
    read: (asked: () => One | null): Read<Endpoint> =>
      isTeam ? read('/admin/webhook-endpoints/{id}', asked) : read('/webhook-endpoints/{id}', asked),
    create: (o: { body: Schema<'WebhookEndpointCreate'>; key: string }) =>
      isTeam ? send('post', '/admin/webhook-endpoints', o) : send('post', '/webhook-endpoints', o),
    update: (o: Change<Schema<'WebhookEndpointUpdate'>>) =>
      isTeam ? send('patch', '/admin/webhook-endpoints/{id}', o) : send('patch', '/webhook-endpoints/{id}', o),
    remove: (o: Change) => (isTeam ? send('delete', '/admin/webhook-endpoints/{id}', o) : send('delete', '/webhook-endpoints/{id}', o)),
    rotate: (o: Change) =>
      isTeam ? send('post', '/admin/webhook-endpoints/{id}/rotate-secret', o) : send('post', '/webhook-endpoints/{id}/rotate-secret', o),
    test: (o: Change) => (isTeam ? send('post', '/admin/webhook-endpoints/{id}/test', o) : send('post', '/webhook-endpoints/{id}/test', o)),
    replay: (o: Change<Schema<'WebhookReplayCreate'>>) =>
      isTeam ? send('post', '/admin/webhook-endpoints/{id}/replay', o) : send('post', '/webhook-endpoints/{id}/replay', o),
    deliveries: (asked: () => One & { query: { status: string } }) =>
      isTeam
        ? list('/admin/webhook-endpoints/{id}/deliveries', asked, { limit: 20, poll: 10_000 })
        : list('/webhook-endpoints/{id}/deliveries', asked, { limit: 20, poll: 10_000 }),
    delivery: (asked: () => DeliveryPath | null): Read<Delivery> =>
      isTeam
        ? read('/admin/webhook-endpoints/{id}/deliveries/{delivery_id}', asked, { poll: 3_000 })
        : read('/webhook-endpoints/{id}/deliveries/{delivery_id}', asked, { poll: 3_000 }),
    retry: (o: DeliveryPath & { key: string }) =>
      isTeam
        ? send('post', '/admin/webhook-endpoints/{id}/deliveries/{delivery_id}/retry', o)
        : send('post', '/webhook-endpoints/{id}/deliveries/{delivery_id}/retry', o),
    event: (asked: () => One | null): Read<Schema<'Event'>> => (isTeam ? read('/admin/events/{id}', asked) : read('/events/{id}', asked)),
  };
}

export type WebhookPaths = ReturnType<typeof webhookPaths>;
