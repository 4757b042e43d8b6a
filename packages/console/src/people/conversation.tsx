import './thread.css'
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { Conversation as ConversationView } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call, get } from '../app/api.ts'
import { useCanAct, useScope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { ConversationMark } from './conversations.tsx'
import { Thread } from './thread.tsx'

const NEXT: Record<ConversationView['status'], [ConversationView['status'], string][]> = {
  open: [
    ['snoozed', 'Snooze'],
    ['closed', 'Close'],
  ],
  snoozed: [
    ['open', 'Open'],
    ['closed', 'Close'],
  ],
  closed: [['open', 'Open again']],
}

/** The exchange with one person about one thing, over all channels, in order. */
export function Conversation() {
  const { id } = useParams({ from: '/shell/conversations/$id' })
  const scope = useScope()
  const canAct = useCanAct()
  const [next, setNext] = useState<[ConversationView['status'], string] | null>(null)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'conversation', id, scope.tenantId],
    queryFn: () => get<ConversationView>(`/api/conversations/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/contacts" search={{ tab: 'conversations' }}>
          Conversations
        </Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1}>
            About {data.context.type} {data.context.id}
          </Title>
          <Group gap="md" mt={4}>
            <ConversationMark status={data.status} />
            <Link to="/contacts/$id" params={{ id: data.contactId }}>
              the contact
            </Link>
            <Link to="/entities/$type/$id" params={data.context}>
              all about {data.context.type} {data.context.id}
            </Link>
          </Group>
        </div>
        {canAct && (
          <Group gap="xs">
            {NEXT[data.status].map(([status, word]) => (
              <Button key={status} size="xs" variant="default" onClick={() => setNext([status, word])}>
                {word}…
              </Button>
            ))}
          </Group>
        )}
      </Group>
      <Panel title="Messages, over all channels">
        <Thread conversationId={data.id} scope={scope} />
      </Panel>
      {next && (
        <AskDialog
          title={`${next[1]} this conversation`}
          word={next[1]}
          perform={() =>
            call<ConversationView>('PATCH', `/api/conversations/${data.id}`, scope.query, { status: next[0] })
          }
          done={({ status }) => `It is ${status} now.`}
          close={() => setNext(null)}
        >
          <Text>
            {next[0] === 'closed'
              ? 'The next notification about this opens another conversation.'
              : 'Later notifications about this join it.'}
          </Text>
        </AskDialog>
      )}
    </Stack>
  )
}
