import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { ListMember, RecipientList } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call, get } from '../app/api.ts'
import { useCanConfigure, useScope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { TypedName } from '../parts/typed-name.tsx'
import { ImportMembers } from './import-members.tsx'
import { Reach } from './reach.tsx'

/** One list: whom it stands for, whom each channel reaches, and who is not reached and why. */
export function List() {
  const { id } = useParams({ from: '/shell/lists/$id' })
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const [dialog, open] = useState<'import' | 'remove' | null>(null)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'list', id, scope.tenantId],
    queryFn: () => get<RecipientList>(`/api/recipient-lists/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/lists">Recipient lists</Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {data.name}
          </Title>
          <Text c="dimmed">{data.memberCount.toLocaleString('en')} members</Text>
        </div>
        {canConfigure && (
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => open('remove')}>
              Remove…
            </Button>
            <Button size="xs" onClick={() => open('import')}>
              Import…
            </Button>
          </Group>
        )}
      </Group>
      {data.memberCount > 0 && <Reach listId={data.id} scope={scope} />}
      <Members listId={data.id} />
      {dialog === 'import' && <ImportMembers list={data} scope={scope} close={() => open(null)} />}
      {dialog === 'remove' && <RemoveList list={data} close={() => open(null)} />}
    </Stack>
  )
}

function Members({ listId }: { listId: string }) {
  const scope = useScope()
  const list = usePaged<ListMember>(`/api/recipient-lists/${listId}/members`, scope)
  return (
    <Panel title="Members, in the order they were added">
      <PagedList
        list={list}
        lines={3}
        word="More"
        blank={
          <Blank title="Nobody is on it">
            Import a file: each line a name, an email and a phone. What is sent to an empty list is parked.
          </Blank>
        }
      >
        {(members) => (
          <table className="rows cards">
            <Heads names={['name', 'email', 'phone']} />
            <tbody>
              {members.map(({ name, email, phone }, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: masked members may look alike, and their order does not change.
                <tr key={place}>
                  <td>{name ?? 'without a name'}</td>
                  <td style={{ overflowWrap: 'anywhere' }}>{email}</td>
                  <td>{phone}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </PagedList>
    </Panel>
  )
}

function RemoveList({ list, close }: { list: RecipientList; close: () => void }) {
  const scope = useScope()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  return (
    <AskDialog
      title={`Remove ${list.name}`}
      word="Remove"
      isReady={typed === list.name}
      perform={async () => {
        await call('DELETE', `/api/recipient-lists/${list.id}`, scope.query)
        await navigate({ to: '/lists' })
      }}
      done={() => `${list.name} is gone.`}
      close={close}
    >
      <Text>
        Its members are gone with it. Whatever still waits to be sent to it will be parked. This cannot be taken back.
      </Text>
      <TypedName wanted={list.name} value={typed} onChange={setTyped} />
    </AskDialog>
  )
}
