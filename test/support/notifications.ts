import type { NotificationView } from '../../packages/pillarbox/src/model/notification.ts'
import type { NotificationFilter } from '../../packages/pillarbox/src/plan/notification-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/** The newest notifications with their words, which lists do not have. */
export async function wholeNotifications(
  store: Pick<Store, 'notifications'>,
  filter: NotificationFilter = {},
  limit = 200,
): Promise<NotificationView[]> {
  const { items } = await store.notifications.list(filter, { limit })
  const found = await Promise.all(items.map(({ tenantId, id }) => store.notifications.find(tenantId, id)))
  return found.filter((notification) => notification !== null)
}
