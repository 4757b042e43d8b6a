import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { SandboxMessage } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError, get, type PageOf } from '../app/api.ts'
import { useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { addressOf, CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import { SandboxView } from './sandbox-view.tsx'

/** What the pretend vendor took, as the recipients would have got it. */
export function Sandbox() {
  const scope = useScope()
  const { channel, id } = useSearch({ from: '/shell/sandbox' })
  const navigate = useNavigate({ from: '/sandbox' })
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'sandbox', scope.tenantId, channel],
    queryFn: () => get<PageOf<SandboxMessage>>('/api/sandbox/messages', { ...scope.query, channel, limit: 100 }),
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  })
  const open = data?.items.find((message) => message.id === id) ?? data?.items[0]
  return (
    <Stack gap="md">
      <Title order={1}>Sandbox inbox</Title>
      <Text c="dimmed">
        Accounts with the provider “sandbox” deliver here, and nowhere else. Nothing on this page has left the server.
      </Text>
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
          <Blank title="Nothing has arrived">
            Send something through a sandbox account: publish an event, or press the button on the{' '}
            <Link to="/">overview</Link>.
          </Blank>
        </section>
      ) : (
        <div className={id === undefined ? 'two' : 'two picked'}>
          <Panel title={`${data.items.length}${data.nextCursor ? '+' : ''} messages`}>
            <MessageTable messages={data.items} openId={open?.id} />
          </Panel>
          {open && <SandboxView message={open} scope={scope} />}
        </div>
      )}
    </Stack>
  )
}

function MessageTable({ messages, openId }: { messages: readonly SandboxMessage[]; openId: string | undefined }) {
  return (
    <table className="rows cards">
      <thead>
        <tr>
          {['to', 'channel', 'says', 'arrived'].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {messages.map((message) => (
          <tr key={message.id} style={message.id === openId ? { background: 'var(--pbx-hover)' } : undefined}>
            <td>
              <Link
                to="/sandbox"
                search={(old) => ({ ...old, id: message.id })}
                aria-current={message.id === openId ? 'true' : undefined}
                data-row=""
                resetScroll={false}
              >
                {addressOf(message.to, message.channel)}
              </Link>
            </td>
            <td>{channelWord(message.channel)}</td>
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
