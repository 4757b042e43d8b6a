import { Alert, Button, Group, List, Modal, Text, Textarea } from '@mantine/core'
import type { Contact } from '@pillarbox/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Refusal } from '../parts/refusal.tsx'
import { TypedName } from '../parts/typed-name.tsx'

interface PersonProps {
  contact: Contact
  scope: Scope
  close: () => void
}

interface ExportPage {
  items: { table: string; row: object }[]
  nextCursor: string | null
}

/** Everything that is kept about one person, as a file. It is gathered page by page. */
export function ExportPerson({ contact, scope, close }: PersonProps) {
  const gather = useMutation({
    mutationFn: async () => {
      const items: ExportPage['items'] = []
      for (let cursor: string | null = null; ; ) {
        const page: ExportPage = await call('POST', '/api/personal-data/export', scope.query, {
          contactId: contact.id,
          ...(cursor !== null && { cursor }),
        })
        items.push(...page.items)
        if (page.nextCursor === null) return items
        cursor = page.nextCursor
      }
    },
    onSuccess: (items) => {
      download(`person-${contact.id}.json`, JSON.stringify(items, null, 2))
      close()
    },
  })
  return (
    <Modal opened onClose={close} title="Export what is kept about them" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Text>
        Contact, conversations, events, notifications, receipts and the audit are searched, and what names this person
        comes as one JSON file. It holds addresses and words as they are; that it was made stays on record.
      </Text>
      <Refusal error={gather.error} />
      <Group mt="md" justify="end">
        <Button variant="default" onClick={close}>
          Back
        </Button>
        <Button onClick={() => gather.mutate()} loading={gather.isPending}>
          Make the file
        </Button>
      </Group>
    </Modal>
  )
}

interface EraseReport {
  erased: Record<string, number>
  remains: { what: string; why: string; count?: number }[]
  nextCursor: string | null
}

/** Takes away what is known of one person, for good. */
export function ErasePerson({ contact, scope, close }: PersonProps) {
  const [typed, setTyped] = useState('')
  const [note, setNote] = useState('')
  const navigate = useNavigate()
  const wanted = contact.profileId ?? contact.id.slice(-12)
  const erase = useMutation({
    mutationFn: async () => {
      const erased: Record<string, number> = {}
      for (let cursor: string | null = null; ; ) {
        const report: EraseReport = await call('POST', '/api/personal-data/erase', scope.query, {
          contactId: contact.id,
          note: note.trim(),
          ...(cursor !== null && { cursor }),
        })
        for (const [table, count] of Object.entries(report.erased)) erased[table] = (erased[table] ?? 0) + count
        if (report.nextCursor === null) return { ...report, erased }
        cursor = report.nextCursor
      }
    },
  })
  const leave = (): void => void navigate({ to: '/contacts' })
  if (erase.data)
    return (
      <Modal opened onClose={leave} title="Erased" closeButtonProps={{ 'aria-label': 'Close' }}>
        <Text>
          {Object.entries(erase.data.erased)
            .filter(([, count]) => count > 0)
            .map(([table, count]) => `${count} of ${table}`)
            .join(', ') || 'Nothing was left to erase.'}
        </Text>
        {erase.data.remains.length > 0 && (
          <>
            <Text mt="sm" fw={600}>
              What remains, and why
            </Text>
            <List size="sm">
              {erase.data.remains.map(({ what, why, count }) => (
                <List.Item key={what}>
                  {what}
                  {count !== undefined && ` (${count})`}: {why}
                </List.Item>
              ))}
            </List>
          </>
        )}
        <Group mt="md" justify="end">
          <Button onClick={leave}>To the people</Button>
        </Group>
      </Modal>
    )
  return (
    <Modal opened onClose={close} title="Erase what is kept about them" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Alert color="red" variant="outline" title="This cannot be undone" mb="sm">
        The contact goes. Notifications stay as rows without recipient and words, and what waits is cancelled.
        Suppressions stay as hashes, so that nobody writes to the address again by mistake.
      </Alert>
      <Textarea
        label="Why"
        description="Kept in the audit: name nobody in it."
        value={note}
        onChange={({ currentTarget }) => setNote(currentTarget.value)}
        maxLength={1_000}
        autosize
        minRows={2}
        required
        data-autofocus
      />
      <TypedName wanted={wanted} value={typed} onChange={setTyped} />
      <Refusal error={erase.error} />
      <Group mt="md" justify="end">
        <Button variant="default" onClick={close}>
          Back
        </Button>
        <Button
          color="red"
          onClick={() => erase.mutate()}
          loading={erase.isPending}
          disabled={typed !== wanted || note.trim() === ''}
        >
          Erase
        </Button>
      </Group>
    </Modal>
  )
}

function download(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
