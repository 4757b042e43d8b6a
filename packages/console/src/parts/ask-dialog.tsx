import { Button, Group, Modal, Textarea } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Refusal } from './refusal.tsx'

interface AskDialogProps<T> {
  title: string
  /** On the button that does it. */
  word: string
  /** What it will do, and what to know before. */
  children?: ReactNode
  /** Whether it takes a note, which stays on record. */
  takesNote?: boolean
  /** Until then it cannot be done. */
  isReady?: boolean
  perform: (note: string) => Promise<T>
  /** What is said once it is done. */
  done: (answer: T) => string
  close: () => void
}

/** Asks before something is done. Nothing that changes anything is done without one. */
export function AskDialog<T>({
  title,
  word,
  children,
  takesNote = false,
  isReady = true,
  perform,
  done,
  close,
}: AskDialogProps<T>) {
  const [note, setNote] = useState('')
  const queries = useQueryClient()
  const mutation = useMutation({
    mutationFn: () => perform(note.trim()),
    onSuccess: async (answer) => {
      close()
      toasts.show({ message: done(answer), color: 'green', title: `${word}: done` })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
  })
  return (
    <Modal opened onClose={close} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      {children}
      {takesNote && (
        <Textarea
          label="Note"
          description="Why. It stays on record with your name."
          value={note}
          onChange={({ currentTarget }) => setNote(currentTarget.value)}
          autosize
          minRows={2}
          maxLength={500}
          data-autofocus
        />
      )}
      <Refusal error={mutation.error} />
      <Group mt="md" justify="end">
        <Button variant="default" onClick={close}>
          Back
        </Button>
        <Button onClick={() => mutation.mutate()} loading={mutation.isPending} disabled={!isReady}>
          {word}
        </Button>
      </Group>
    </Modal>
  )
}
