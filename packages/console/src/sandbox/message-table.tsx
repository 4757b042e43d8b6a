import { Group } from '@mantine/core'
import type { SandboxMessage } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { Heads } from '../parts/heads.tsx'
import { addressOf, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'

interface MessageTableProps {
  messages: readonly SandboxMessage[]
  openId: string | undefined
  /** The page says which. */
  isOfOneChannel: boolean
}

export function MessageTable({ messages, openId, isOfOneChannel }: MessageTableProps) {
  return (
    <table className="rows cards">
      <Heads names={['to', ...(isOfOneChannel ? [] : ['channel']), 'says', 'arrived']} />
      <tbody>
        {messages.map((message) => (
          <tr key={message.id} style={message.id === openId ? { background: 'var(--pbx-hover)' } : undefined}>
            <td>
              <Link
                to="/sandbox"
                search={(old) => ({ ...old, id: message.id, follow: undefined })}
                aria-current={message.id === openId ? 'true' : undefined}
                data-row=""
                resetScroll={false}
              >
                {addressOf(message.to, message.channel)}
              </Link>
            </td>
            {!isOfOneChannel && <td>{channelWord(message.channel)}</td>}
            <td>
              <Group gap={6} wrap="nowrap">
                <span className="clip">{message.subject ?? message.body.slice(0, 80)}</span>
                {message.duplicateOf !== null && <strong style={{ color: 'var(--pbx-warn)' }}>repeat</strong>}
              </Group>
            </td>
            <td>
              <When at={message.acceptedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
