import { Button, Checkbox, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { SandboxMessage } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'
import { ApiError, get, type PageOf } from '../app/api.ts'
import { useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Narrow } from '../parts/narrow.tsx'
import { Panel } from '../parts/panel.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { MessageTable } from './message-table.tsx'
import { SandboxView } from './sandbox-view.tsx'
import { TestClockBar } from './test-clock.tsx'

/** What the pretend vendor took, as the recipients would have got it. */
export function Sandbox() {
  const scope = useScope()
  const { channel, to, id, follow } = useSearch({ from: '/shell/sandbox' })
  const navigate = useNavigate({ from: '/sandbox' })
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'sandbox', scope.tenantId, channel, to],
    queryFn: () => get<PageOf<SandboxMessage>>('/api/sandbox/messages', { ...scope.query, channel, to, limit: 50 }),
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: follow === '1' ? 1_000 : 5_000,
  })
  const open = useOpen(data?.items, { id, follow, question: `${channel} ${to}` })
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Sandbox inbox</Title>
        <Button component={Link} to="/sandbox/faults" size="xs" variant="default">
          Faults
        </Button>
      </Group>
      <Text c="dimmed">
        Accounts with the provider “sandbox” deliver here, and nowhere else. Nothing on this page has left the server.
      </Text>
      <TestClockBar scope={scope} />
      <Group gap="md" align="end">
        <div style={{ overflowX: 'auto' }}>
          <SegmentedControl
            size="xs"
            aria-label="Channel"
            value={channel ?? ''}
            data={[
              { value: '', label: 'all' },
              ...CHANNEL_NAMES.map((name) => ({ value: name, label: channelWord(name) })),
            ]}
            onChange={(value) =>
              void navigate({ search: (old) => ({ ...old, channel: value || undefined, id: undefined }) })
            }
          />
        </div>
        <Narrow
          label="To"
          placeholder="an address, whole"
          value={to}
          narrow={(value) => void navigate({ search: (old) => ({ ...old, to: value, id: undefined }), replace: true })}
          isFirst
        />
        <Checkbox
          label="Follow: always show the newest"
          checked={follow === '1'}
          onChange={({ currentTarget }) =>
            void navigate({
              search: (old) => ({ ...old, follow: currentTarget.checked ? '1' : undefined, id: undefined }),
              replace: true,
            })
          }
          pb={8}
        />
      </Group>
      {!data ? (
        error instanceof ApiError && error.code === 'not_found' ? (
          <Blank title="There is no sandbox here">This server has no sandbox: its accounts send for real.</Blank>
        ) : error ? (
          <Trouble error={error} retry={() => void refetch()} />
        ) : (
          <Loading />
        )
      ) : data.items.length === 0 ? (
        <section className="panel">
          <Blank title={channel || to ? 'None match' : 'Nothing has arrived'}>
            Send something through a sandbox account: publish an event, or press the button on the{' '}
            <Link to="/">overview</Link>.
          </Blank>
        </section>
      ) : (
        <div className={id === undefined ? 'two' : 'two picked'}>
          <Panel title={`${data.items.length}${data.nextCursor ? '+' : ''} messages`}>
            <MessageTable messages={data.items} openId={open?.id} isOfOneChannel={channel !== undefined} />
          </Panel>
          {open && <SandboxView message={open} others={data.items} scope={scope} />}
        </div>
      )}
    </Stack>
  )
}

interface Picked {
  id: string | undefined
  follow: string | undefined
  question: string
}

/** The message that is shown: the one that was picked, the newest while it is followed, else the one that was the newest at first. */
function useOpen(messages: readonly SandboxMessage[] | undefined, { id, follow, question }: Picked) {
  const first = useRef<{ question: string; id: string } | null>(null)
  const newest = messages?.[0]
  if (newest && first.current?.question !== question) first.current = { question, id: newest.id }
  const wanted = id ?? (follow === '1' ? newest?.id : first.current?.id)
  return messages?.find((message) => message.id === wanted) ?? newest
}
