import type { NotificationDetail } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { At } from '../parts/when.tsx'

/** What is known of it beside its story. What is not known is left out. */
export function Facts({ notification: n }: { notification: NotificationDetail }) {
  const facts: Record<string, ReactNode> = {
    id: <span className="mono">{n.id}</span>,
    provider: n.provider,
    reason: n.reason,
    'event type': n.eventType,
    entity: n.entity && (
      <Link to="/entities/$type/$id" params={n.entity}>
        {n.entity.type} {n.entity.id}
      </Link>
    ),
    contact: n.contactId && (
      <Link to="/contacts/$id" params={{ id: n.contactId }}>
        who it is for
      </Link>
    ),
    conversation: n.conversationId && (
      <Link to="/conversations/$id" params={{ id: n.conversationId }}>
        what else was said
      </Link>
    ),
    locale: n.locale,
    site: n.site,
    'asked for by': n.triggeredBy,
    'idempotency key': <span className="mono">{n.idempotencyKey}</span>,
    'correlation id': n.correlationId && <span className="mono">{n.correlationId}</span>,
    'may be a duplicate': n.possibleDuplicate ? 'yes' : null,
    'falls back to': n.fallback.length > 0 ? n.fallback.join(', ') : null,
    'fallback of': n.fallbackOf && <ToOther id={n.fallbackOf} />,
    'fell back to': n.fallbackTo && <ToOther id={n.fallbackTo} />,
    'corrected to': n.correctedTo && <ToOther id={n.correctedTo} />,
    'corrected from': n.correctedFrom && <ToOther id={n.correctedFrom} />,
    'tells the same as': n.duplicateOf && <ToOther id={n.duplicateOf} />,
    sent: n.sentAt && <At at={n.sentAt} />,
    delivered: n.deliveredAt && <At at={n.deliveredAt} />,
    read: n.readAt && <At at={n.readAt} />,
    expires: n.expiresAt && <At at={n.expiresAt} />,
    warnings: n.warnings.length > 0 ? n.warnings.map(({ message }) => message).join(' ') : null,
  }
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

function ToOther({ id }: { id: string }) {
  return (
    <Link to="/notifications/$id" params={{ id }}>
      {id}
    </Link>
  )
}
