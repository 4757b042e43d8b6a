import { Button, FileInput, Group, Modal, Text, Textarea } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { ListMember, RecipientList, TriedMembers } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Heads } from '../parts/heads.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { linesOf, MOST_LINES, membersIn } from './members-file.ts'

interface ImportMembersProps {
  list: RecipientList
  scope: Scope
  close: () => void
}

interface DryRun {
  tried: TriedMembers
  members: readonly ListMember[]
}

const MOST_SHOWN = 20

/** Members from a file, always tried first: who is new, who is there already, and who cannot be added and why. */
export function ImportMembers({ list, scope, close }: ImportMembersProps) {
  const [text, setText] = useState('')
  const queries = useQueryClient()
  const path = `/api/recipient-lists/${list.id}/members`
  const dryRun = useMutation({
    mutationFn: async (): Promise<DryRun> => {
      const members = membersIn(text)
      return { members, tried: await call<TriedMembers>('POST', `${path}/try`, scope.query, { members }) }
    },
  })
  const apply = useMutation({
    mutationFn: ({ members, tried }: DryRun) => {
      const bad = new Set(tried.bad.map(({ index }) => index))
      return call<{ added: number; duplicates: number }>('POST', path, scope.query, {
        members: members.filter((_, index) => !bad.has(index)),
      })
    },
    onSuccess: async ({ added }) => {
      close()
      toasts.show({ color: 'green', title: 'Imported', message: `${added} members were added to ${list.name}.` })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
  })
  const lines = linesOf(text).length
  return (
    <Modal
      opened
      onClose={close}
      title={`Import into ${list.name}`}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <FileInput
        label="A file"
        description="CSV or plain text, at most 10,000 lines."
        placeholder="members.csv"
        accept=".csv,.txt,text/csv,text/plain"
        onChange={(file) => {
          dryRun.reset()
          void file?.text().then(setText)
        }}
        clearable
      />
      <Textarea
        mt="sm"
        label="Or lines"
        description="Name, email, phone, in this order or as the first line names them. An address alone will do."
        placeholder={'name,email,phone\nAna,ana@example.com,+12025550100'}
        value={text}
        onChange={({ currentTarget }) => {
          dryRun.reset()
          setText(currentTarget.value)
        }}
        minRows={4}
        maxRows={10}
        autosize
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      {lines > MOST_LINES && (
        <Text style={{ color: 'var(--pbx-bad)' }}>These are {lines} lines: import them in parts.</Text>
      )}
      {dryRun.data && <DryRunReport {...dryRun.data} />}
      <Refusal error={dryRun.error ?? apply.error} />
      <Group mt="md" justify="end">
        <Button variant="default" onClick={close}>
          Back
        </Button>
        {dryRun.data ? (
          <Button
            onClick={() => dryRun.data && apply.mutate(dryRun.data)}
            loading={apply.isPending}
            disabled={dryRun.data.tried.added === 0}
          >
            Add {dryRun.data.tried.added} members
          </Button>
        ) : (
          <Button
            onClick={() => dryRun.mutate()}
            loading={dryRun.isPending}
            disabled={lines === 0 || lines > MOST_LINES}
          >
            Dry run
          </Button>
        )}
      </Group>
    </Modal>
  )
}

function DryRunReport({ tried: { added, duplicates, bad }, members }: DryRun) {
  return (
    <section aria-label="Dry run" style={{ marginTop: 12 }}>
      <Text role="status">
        <strong>+{added} new</strong> · {duplicates} there already, or twice ·{' '}
        <span style={bad.length > 0 ? { color: 'var(--pbx-bad)', fontWeight: 600 } : undefined}>{bad.length} bad</span>{' '}
        of {members.length}. Nothing is written yet.
      </Text>
      {bad.length > 0 && (
        <table className="rows" style={{ marginTop: 8 }}>
          <Heads names={['entry', 'says', 'why it is left out']} />
          <tbody>
            {bad.slice(0, MOST_SHOWN).map(({ index, message }) => (
              <tr key={index}>
                <td>{index + 1}</td>
                <td className="mono" style={{ overflowWrap: 'anywhere' }}>
                  {[members[index]?.name, members[index]?.email, members[index]?.phone].filter(Boolean).join(', ')}
                </td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {bad.length > MOST_SHOWN && <Text c="dimmed">And {bad.length - MOST_SHOWN} more.</Text>}
    </section>
  )
}
