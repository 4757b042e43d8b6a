import './sandbox.css'
import { SegmentedControl, Text } from '@mantine/core'
import type { NotificationDetail, SandboxMessage } from '@pillarbox/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { urlOf } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { FactList } from '../parts/fact-list.tsx'
import { addressOf } from '../parts/to.tsx'
import { exact, useZone, When } from '../parts/when.tsx'

interface RecipientViewProps {
  message: SandboxMessage
  /** What the notification says of itself; it knows whether the words are HTML. */
  notification: NotificationDetail | undefined
  /** The others on the page, newest first: a chat shows what came before. */
  others: readonly SandboxMessage[]
  scope: Scope
}

/** The message where its recipient would see it: in a chat, on a lock screen, in a mailbox. */
export function RecipientView({ message, notification, others, scope }: RecipientViewProps) {
  switch (message.channel) {
    case 'sms':
    case 'whatsapp':
      return <Chat message={message} others={others} />
    case 'push':
      return <LockScreen message={message} />
    case 'email':
      return <Mail message={message} notification={notification} scope={scope} />
    case 'in_app':
      return (
        <div className="push-card">
          <strong>{message.subject}</strong>
          <div>{message.body}</div>
          <Text size="xs" c="dimmed" mt={4}>
            in the inbox of {addressOf(message.to, message.channel)}, <When at={message.acceptedAt} />
          </Text>
        </div>
      )
    default:
      return <Plain>{message.body}</Plain>
  }
}

const MOST_BUBBLES = 4

function Chat({ message, others }: Pick<RecipientViewProps, 'message' | 'others'>) {
  const to = addressOf(message.to, message.channel)
  const earlier = others
    .filter((each) => each.channel === message.channel && addressOf(each.to, each.channel) === to)
    .filter((each) => each.id < message.id)
    .slice(0, MOST_BUBBLES - 1)
  return (
    <div className="phone">
      <header>{to}</header>
      <ol className="chat">
        {[message, ...earlier].toReversed().map((each) => (
          <li key={each.id}>
            <div className="bubble" data-open={each.id === message.id ? '' : undefined}>
              {each.body}
            </div>
            <When at={each.acceptedAt} />
          </li>
        ))}
      </ol>
    </div>
  )
}

function LockScreen({ message }: { message: SandboxMessage }) {
  const at = new Date(message.acceptedAt)
  const zone = useZone()
  const hour = at.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  })
  return (
    <div className="phone lock-screen">
      <div className="hour">{hour}</div>
      <Text size="xs" c="dimmed">
        {exact(message.acceptedAt, zone).split(',')[0]}
      </Text>
      <div className="push-card">
        <strong>{message.subject}</strong>
        <div>{message.body}</div>
      </div>
    </div>
  )
}

const MAIL_VIEWS = ['html', 'text', 'headers'] as const

function Mail({ message, notification, scope }: Omit<RecipientViewProps, 'others'>) {
  const { as } = useSearch({ from: '/shell/sandbox' })
  const navigate = useNavigate({ from: '/sandbox' })
  const isHtml = notification?.content?.isHtml === true
  const views = MAIL_VIEWS.filter((view) => view !== 'html' || isHtml)
  const shown = views.find((view) => view === as) ?? views[0] ?? 'text'
  return (
    <div className="letter">
      <FactList
        facts={{
          to: addressOf(message.to, message.channel),
          subject: <strong>{message.subject}</strong>,
          arrived: <When at={message.acceptedAt} />,
        }}
      />
      <SegmentedControl
        size="xs"
        mb="sm"
        aria-label="Show the mail as"
        value={shown}
        data={views.map((view) => ({ value: view, label: view === 'html' ? 'HTML' : view }))}
        onChange={(value) =>
          void navigate({ search: (old) => ({ ...old, as: value === views[0] ? undefined : value }), replace: true })
        }
      />
      {shown === 'html' && (
        <iframe
          className="frame"
          title="The mail as its recipient sees it"
          sandbox=""
          src={urlOf(`/api/notifications/${message.notificationId}/content`, scope.query)}
        />
      )}
      {shown === 'text' && <Plain isProse>{isHtml ? textIn(message.body) : message.body}</Plain>}
      {shown === 'headers' && <Plain>{headersOf(message)}</Plain>}
    </div>
  )
}

function Plain({ children, isProse = false }: { children: string; isProse?: boolean }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <pre className={isProse ? 'said' : 'said mono'} tabIndex={0}>
      {children}
    </pre>
  )
}

/** The words of an HTML mail. The document is parsed and never shown: nothing in it runs or loads. */
function textIn(html: string): string {
  const body = new DOMParser().parseFromString(html, 'text/html').body
  for (const unseen of body.querySelectorAll('script, style')) unseen.remove()
  for (const block of body.querySelectorAll('p, div, h1, h2, h3, li, tr, br')) block.append('\n')
  return (body.textContent ?? '').replaceAll(/\n{3,}/g, '\n\n').trim()
}

function headersOf({
  to,
  subject,
  key,
  notificationId,
  attempt,
  correlationId,
  providerTemplate,
  data,
}: SandboxMessage): string {
  const lines: Record<string, unknown> = {
    To: to,
    Subject: subject,
    'Idempotency-Key': key,
    'X-Notification-Id': notificationId,
    'X-Attempt': attempt,
    'X-Correlation-Id': correlationId,
    'X-Template': providerTemplate,
    'X-Data': Object.keys(data).length > 0 ? data : null,
  }
  return Object.entries(lines)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}
