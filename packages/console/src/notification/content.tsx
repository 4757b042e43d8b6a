import { Text } from '@mantine/core'
import type { NotificationDetail } from '@pillarbox/client'
import { urlOf } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'

/** The message as its recipient sees it. HTML is shown in a frame in which nothing runs and that loads nothing. */
export function Content({ notification, scope }: { notification: NotificationDetail; scope: Scope }) {
  const canRead = useCanAct()
  const { id, channel, content, isSealed, isScrubbed } = notification
  if (isScrubbed) return <Text c="dimmed">Its words held secrets, and were removed when it was final.</Text>
  if (isSealed) return <Text c="dimmed">Its words hold secrets: they are sealed, and shown to nobody.</Text>
  if (content === null) return <Text c="dimmed">Its words are not kept.</Text>
  if (!canRead) return <Text c="dimmed">A viewer does not see what is written to people.</Text>
  return (
    <>
      {content.subject !== null && (
        <Text fw={600} mb="xs" style={{ overflowWrap: 'anywhere' }}>
          {content.subject}
        </Text>
      )}
      {content.isHtml ? (
        <iframe
          className="frame"
          title="The message as its recipient sees it"
          sandbox=""
          src={urlOf(`/api/notifications/${id}/content`, scope.query)}
        />
      ) : (
        <Words channel={channel} body={content.body} />
      )}
      {content.providerTemplate && (
        <>
          <Text mt="sm" size="xs" c="dimmed">
            Template of the provider
          </Text>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
          <pre className="said mono" tabIndex={0}>
            {JSON.stringify(content.providerTemplate, null, 2)}
          </pre>
        </>
      )}
    </>
  )
}

/** Short messages as a phone shows them, others as text. */
export function Words({ channel, body }: { channel: string; body: string }) {
  if (channel === 'email' || channel === 'webhook')
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      <pre className={channel === 'webhook' ? 'said mono' : 'said'} tabIndex={0}>
        {body}
      </pre>
    )
  return <div className="bubble">{body}</div>
}
