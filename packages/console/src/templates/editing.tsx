import { Button, Group, Text } from '@mantine/core'
import type { EventType, Template } from '@pillarbox/client'
import { useEffect, useState } from 'react'
import type { Scope } from '../app/session.ts'
import { Conflict } from './conflict.tsx'
import { useDraft } from './draft.ts'
import { Editor, useSample } from './editor.tsx'
import { SaveDialog } from './save-dialog.tsx'
import { SwitchOff } from './switch-off.tsx'
import { TestSend } from './test-send.tsx'

/** Changing a template. What somebody else saves meanwhile is shown, and never written over unseen. */
export function Editing({
  template,
  eventType,
  scope,
}: {
  template: Template
  eventType: EventType | null
  scope: Scope
}) {
  const { draft, setDraft, base, isDirty, startFrom } = useDraft(template)
  const [sample, setSample] = useSample(eventType)
  const [asking, ask] = useState<'save' | 'test' | null>(null)
  const isOutrun = isDirty && template.version !== base.version

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 's') return
      event.preventDefault()
      if (isDirty && !isOutrun) ask('save')
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isDirty, isOutrun])

  return (
    <>
      {isOutrun && (
        <Conflict
          theirs={template}
          mine={draft}
          takeTheirs={() => startFrom(template)}
          keepMine={() => startFrom(template, draft)}
        />
      )}
      <Group gap="xs">
        <Button size="xs" disabled={!isDirty || isOutrun} onClick={() => ask('save')}>
          Save…
        </Button>
        {isDirty && (
          <Button size="xs" variant="default" onClick={() => startFrom(template)}>
            Drop changes
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          disabled={isDirty}
          title={isDirty ? 'A test sends what is saved: save it first' : undefined}
          onClick={() => ask('test')}
        >
          Test send…
        </Button>
        <SwitchOff template={template} scope={scope} />
        <Text size="sm" c="dimmed" role="status">
          {isDirty
            ? `Not saved. The preview shows what you typed; version ${template.version} is what is sent.`
            : `The preview shows version ${template.version}, which is what is sent.`}
        </Text>
      </Group>
      <Editor
        channel={template.channel}
        locale={template.locale}
        type={template.eventType}
        eventType={eventType}
        scope={scope}
        draft={draft}
        change={setDraft}
        sample={sample}
        changeSample={setSample}
      />
      {asking === 'save' && (
        <SaveDialog
          template={template}
          draft={draft}
          scope={scope}
          saved={(after) => startFrom(after)}
          close={() => ask(null)}
        />
      )}
      {asking === 'test' && <TestSend template={template} sample={sample} scope={scope} close={() => ask(null)} />}
    </>
  )
}
