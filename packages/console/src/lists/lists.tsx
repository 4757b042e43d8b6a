import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import type { RecipientList } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { useCanConfigure, useScope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { When } from '../parts/when.tsx'

/** Named lists of recipients, resolved when they are sent to. */
export function Lists() {
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const [isMaking, setMaking] = useState(false)
  const [name, setName] = useState('')
  const list = usePaged<RecipientList>('/api/recipient-lists', scope)
  const make = canConfigure && (
    <Button size="xs" onClick={() => setMaking(true)}>
      Make a list…
    </Button>
  )
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Recipient lists</Title>
        {list.items && list.items.length > 0 && make}
      </Group>
      <section className="panel" aria-label="Lists">
        <PagedList
          list={list}
          blank={
            <Blank title="No list yet" action={make}>
              A list has members with an email, a phone or both. Send to it by its name (
              <span className="mono">to.list</span>
              ), or name it as the recipient of an event type.
            </Blank>
          }
        >
          {(lists) => (
            <table className="rows cards">
              <Heads names={['list', 'members', 'changed', 'made']} />
              <tbody>
                {lists.map(({ id, name: called, memberCount, updatedAt, createdAt }) => (
                  <tr key={id}>
                    <td data-wide="">
                      <Link to="/lists/$id" params={{ id }} data-row="">
                        {called}
                      </Link>
                    </td>
                    <td data-label="members">{memberCount.toLocaleString('en')}</td>
                    <td data-label="changed">
                      <When at={updatedAt} />
                    </td>
                    <td data-label="made">
                      <When at={createdAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </PagedList>
      </section>
      {isMaking && (
        <AskDialog
          title="Make a list"
          word="Make"
          isReady={name.trim() !== ''}
          perform={() =>
            call<RecipientList>('POST', '/api/recipient-lists', scope.query, { name: name.trim(), members: [] })
          }
          done={(made) => `${made.name} is there, and empty: open it to import its members.`}
          close={() => {
            setMaking(false)
            setName('')
          }}
        >
          <TextInput
            label="Name"
            description="Events and notifications name the list by it."
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            maxLength={200}
            data-autofocus
          />
          <Text size="sm" c="dimmed" mt="xs">
            Members are imported afterwards, after a dry run.
          </Text>
        </AskDialog>
      )}
    </Stack>
  )
}
