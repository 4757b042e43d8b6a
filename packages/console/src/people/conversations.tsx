import type { Conversation } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import type { Scope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { When } from '../parts/when.tsx'

const LOOKS: Record<Conversation['status'], Look> = {
  open: { tone: 'good', shape: SHAPES.ring, means: 'Later notifications about it join it.' },
  snoozed: { tone: 'calm', shape: SHAPES.clock, means: 'Set aside; later notifications still join it.' },
  closed: { tone: 'calm', shape: SHAPES.dash, means: 'Over: the next notification about it opens another.' },
}

export function ConversationMark({ status }: Pick<Conversation, 'status'>) {
  return <Mark look={LOOKS[status]} word={status} />
}

/** What is talked about, with whom; of one contact, or of all. */
export function Conversations({ scope, contactId }: { scope: Scope; contactId?: string }) {
  const list = usePaged<Conversation>('/api/conversations', scope, { contactId })
  return (
    <Panel title="Conversations">
      <PagedList
        list={list}
        lines={2}
        blank={
          <Blank title="No conversation">
            Notifications about the same thing to the same person make one, where the event names a{' '}
            <span className="mono">conversation</span>.
          </Blank>
        }
      >
        {(conversations) => (
          <table className="rows cards">
            <Heads names={['about', 'state', 'last changed']} />
            <tbody>
              {conversations.map(({ id, context, status, updatedAt }) => (
                <tr key={id}>
                  <td>
                    <Link to="/conversations/$id" params={{ id }} data-row="">
                      {context.type} {context.id}
                    </Link>
                  </td>
                  <td>
                    <ConversationMark status={status} />
                  </td>
                  <td>
                    <When at={updatedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </PagedList>
    </Panel>
  )
}
