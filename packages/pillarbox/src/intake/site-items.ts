import { EARLIEST_MS, LATEST_MS } from '@pillarbox/client/contract'
import { type Static, Type } from 'typebox'
import type { FieldError } from '../model/errors.ts'
import { Instant, instantMs, Line, Nullable, UUID_PATTERN } from './body-fields.ts'
import { NotificationBody } from './notification-body.ts'
import type { HandedOff } from './site-store.ts'

const { idempotencyKey: _key, channel, to, expand: _expand, ...rest } = NotificationBody.properties

/** A GUID of any version, which whoever sent it at the site made there. */
const NotificationId = Type.String({
  pattern: UUID_PATTERN,
  description:
    'The id it was given at the site, a UUID. Unique per tenant; a repeat is acknowledged and changes nothing.',
})

/** One notification as a site hands it off. */
export const SiteItem = Type.Object(
  {
    notificationId: NotificationId,
    channel: Type.Optional(Nullable({ ...channel, description: 'Absent: email.' })),
    to: Type.Optional(Nullable(to)),
    list: Type.Optional(Nullable(Line(1, 200, 'A recipient list by name; the same as to.list.'))),
    ...rest,
    sequence: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Its number in the site’s buffer, from 1 and without gaps.',
        }),
      ),
    ),
    sentAt: Type.Optional(Nullable(Instant('When it was sent at the site, by the clock of the site.'))),
  },
  {
    additionalProperties: false,
    title: 'SiteNotification',
    examples: [
      {
        notificationId: '0b7c3f8e-7d0e-4a53-9f5c-2f1b9a0c4d11',
        list: 'operators',
        subject: 'Pump 3 stopped',
        body: 'Pump 3 stopped at 12:04.',
        executionId: 'script-118',
      },
    ],
  },
)
export type SiteItem = Static<typeof SiteItem>

/** One notification that a site hands off, with what its buffer says of it. */
export interface SiteBody extends Pick<HandedOff, 'sequence' | 'sentAt'> {
  body: NotificationBody
}

/** What is wrong with an item beyond its form. */
export function siteItemProblems({ to: address, list }: SiteItem): FieldError[] {
  const hasAddress = address !== null && address !== undefined
  const hasList = list !== null && list !== undefined
  if (hasAddress === hasList) return [{ path: '/to', message: 'or list must be given, and not both' }]
  return []
}

/** A clock that is off by less is no trouble. */
const TOLERATED_MS = 60_000

/**
 * The notification that an item is. Times of a site whose clock is off were worked out by that clock, so they are moved by as
 * much: what was to expire in an hour expires in an hour.
 */
export function bodyOfItem(item: SiteItem, clockAheadMs: number | null): SiteBody {
  const { notificationId, to: address, list, sequence = null, sentAt, channel: named, ...body } = item
  const id = notificationId.toLowerCase()
  const off = clockAheadMs !== null && Math.abs(clockAheadMs) > TOLERATED_MS ? clockAheadMs : 0
  const moved = (instant: string | null | undefined): string | null => {
    const at = instantMs(instant)
    return at === null ? null : new Date(Math.min(LATEST_MS, Math.max(EARLIEST_MS, at - off))).toISOString()
  }
  return {
    body: {
      ...body,
      idempotencyKey: id,
      channel: named ?? 'email',
      to: list === null || list === undefined ? (address ?? {}) : { list },
      dueAt: moved(item.dueAt),
      expiresAt: moved(item.expiresAt),
      correlationId: item.correlationId ?? id,
    },
    sequence,
    sentAt: instantMs(sentAt),
  }
}
