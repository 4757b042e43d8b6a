import { Button, Group, Text } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import { useEffect, useState } from 'react'
import { call } from '../app/api.ts'
import { queries } from '../app/queries.ts'
import type { Scope } from '../app/session.ts'
import { isTyping } from '../app/shortcuts.ts'

interface Started {
  id: string
  scope: Scope
  words: string
  graceMs: number
  watch: () => void
}

/** It stays a little longer than it can be undone, for whoever wants to watch. */
const AFTER_MS = 4_000

/** Says that an operation waits for its grace to end, with a way back. */
export function tellStarted(started: Started): void {
  toasts.show({
    id: started.id,
    autoClose: started.graceMs + AFTER_MS,
    title: started.words,
    message: <UndoToast {...started} beginsAt={Date.now() + started.graceMs} />,
    closeButtonProps: { 'aria-label': 'Close' },
  })
}

function UndoToast({ id, scope, watch, beginsAt }: Started & { beginsAt: number }) {
  const [now, setNow] = useState(Date.now())
  const [isAsked, setAsked] = useState(false)
  const leftMs = beginsAt - now

  useEffect(() => {
    const tick = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(tick)
  }, [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'u' && !event.ctrlKey && !event.metaKey && !isTyping(event.target)) void undo()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })

  async function undo(): Promise<void> {
    if (isAsked) return
    setAsked(true)
    try {
      await call('POST', `/api/operations/${id}/undo`, scope.query)
      toasts.update({ id, title: 'Undone', message: 'Nothing was done.', color: 'green', autoClose: AFTER_MS })
    } catch (error) {
      const message = error instanceof Error ? error.message : 'Something went wrong.'
      toasts.update({ id, title: 'It was not undone', message, color: 'red', autoClose: 2 * AFTER_MS })
    }
    await queries.invalidateQueries({ queryKey: ['live'] })
  }

  return (
    <>
      <Text size="sm">{leftMs > 0 ? `Begins in ${Math.ceil(leftMs / 1_000)} s.` : 'It has begun.'}</Text>
      <Group gap="xs" mt={6}>
        {leftMs > 0 && (
          <Button size="compact-sm" variant="default" onClick={() => void undo()} loading={isAsked}>
            Undo
          </Button>
        )}
        <Button
          size="compact-sm"
          variant="subtle"
          onClick={() => {
            toasts.hide(id)
            watch()
          }}
        >
          Watch
        </Button>
      </Group>
    </>
  )
}
