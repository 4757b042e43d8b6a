import './people.css'
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { Contact as ContactView } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../app/api.ts'
import { useCanAct, useCanConfigure, useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { FactList } from '../parts/fact-list.tsx'
import { Panel } from '../parts/panel.tsx'
import { At } from '../parts/when.tsx'
import { ContactNotifications } from './contact-notifications.tsx'
import { Conversations } from './conversations.tsx'
import { ErasePerson, ExportPerson } from './personal-data.tsx'
import { useReveal } from './reveal.ts'

/** One person: masked until somebody asks to see them, what they were told, and what is kept about them. */
export function Contact() {
  const { id } = useParams({ from: '/shell/contacts/$id' })
  const scope = useScope()
  const [canAct, canConfigure] = [useCanAct(), useCanConfigure()]
  const [dialog, open] = useState<'export' | 'erase' | null>(null)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'contact', id, scope.tenantId],
    queryFn: () => get<ContactView>(`/api/contacts/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
  })
  const { revealed, secondsLeft, reveal, hide, problem } = useReveal(id, scope)
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  const shown = revealed ?? data
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/contacts">People</Link>
      </Text>
      <Group justify="space-between" align="start">
        <Title order={1} style={{ overflowWrap: 'anywhere' }}>
          {shown.name ?? shown.email ?? shown.phone ?? shown.profileId ?? 'Somebody'}
        </Title>
        <Group gap="xs">
          {canAct &&
            (revealed ? (
              <Button size="xs" variant="light" onClick={hide}>
                Mask again ({secondsLeft} s)
              </Button>
            ) : (
              <Button size="xs" variant="default" onClick={reveal} title="That you looked stays on record.">
                Reveal
              </Button>
            ))}
          {canConfigure && (
            <>
              <Button size="xs" variant="default" onClick={() => open('export')}>
                Export…
              </Button>
              <Button size="xs" variant="default" onClick={() => open('erase')}>
                Erase…
              </Button>
            </>
          )}
        </Group>
      </Group>
      {problem !== null && <Trouble error={problem} />}
      <Panel title="Known of them">
        <div className="inside known">
          <FactList
            facts={{
              name: shown.name,
              phone: shown.phone,
              email: shown.email,
              locale: shown.locale,
              'profile id': shown.profileId && <span className="mono">{shown.profileId}</span>,
              'user id': shown.userId && <span className="mono">{shown.userId}</span>,
              since: <At at={data.createdAt} />,
              changed: <At at={data.updatedAt} />,
              'on record': (
                <Link to="/audit" search={{ target: `contact:${data.id}` }}>
                  who changed or revealed it
                </Link>
              ),
            }}
          />
        </div>
      </Panel>
      <ContactNotifications contactId={data.id} scope={scope} />
      <Conversations scope={scope} contactId={data.id} />
      {dialog === 'export' && <ExportPerson contact={data} scope={scope} close={() => open(null)} />}
      {dialog === 'erase' && <ErasePerson contact={data} scope={scope} close={() => open(null)} />}
    </Stack>
  )
}
