import { Button } from '@mantine/core'
import type { Template } from '@pillarbox/client'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'

/** Switching a template off and on, and removing one that was never used. */
export function SwitchOff({ template, scope }: { template: Template; scope: Scope }) {
  const [asking, ask] = useState<'switch' | 'remove' | null>(null)
  const navigate = useNavigate()
  const path = `/api/message-templates/${template.id}`
  const { isActive, version } = template
  const word = isActive ? 'Switch off' : 'Switch on'

  async function remove(): Promise<Template | null> {
    const kept = await call<Template | null>('DELETE', path, scope.query)
    if (kept === null) await navigate({ to: '/templates' })
    return kept
  }

  return (
    <>
      <Button size="xs" variant="default" onClick={() => ask('switch')}>
        {word}…
      </Button>
      <Button size="xs" variant="default" onClick={() => ask('remove')}>
        Remove…
      </Button>
      {asking === 'switch' && (
        <AskDialog
          title={`${word} this template`}
          word={word}
          perform={() => call<Template>('PATCH', path, scope.query, { isActive: !isActive, version })}
          done={(after) => (after.isActive ? 'It is used again.' : 'Nothing is made from it any more.')}
          close={() => ask(null)}
        >
          {isActive
            ? 'Nothing is made from it any more. Whoever would have been told in these words is told in those of another language, or skipped, and the notification says so.'
            : 'From now on it is used again.'}
        </AskDialog>
      )}
      {asking === 'remove' && (
        <AskDialog
          title="Remove this template"
          word="Remove"
          perform={remove}
          done={(kept) => (kept ? 'Notifications were made from it: it is kept, and switched off.' : 'It is gone.')}
          close={() => ask(null)}
        >
          It goes, with its versions. One that notifications were made from is kept and switched off instead.
        </AskDialog>
      )}
    </>
  )
}
