import { Button, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { Channel, EventType, Problem } from '@pillarbox/client'
import { useRef, useState } from 'react'
import type { Scope } from '../app/session.ts'
import { Panel } from '../parts/panel.tsx'
import { CodeField, type EditorHandle } from './code-field.tsx'
import { Placeholders } from './placeholders.tsx'
import { Preview } from './preview.tsx'
import { exampleOf, knownNames } from './sample.ts'
import { SamplePanel } from './sample-panel.tsx'
import { usePreview } from './use-preview.ts'
import { type Draft, hasProviderTemplate, hasSubject, placeIn, withoutPlace } from './words.ts'

interface EditorProps {
  channel: Channel
  locale: string
  type: string
  /** Null where the catalogue does not have it any more. */
  eventType: EventType | null
  scope: Scope
  draft: Draft
  change: (draft: Draft) => void
  /** What the sample is, for whoever sends a test with it. */
  sample: string
  changeSample: (sample: string) => void
}

/** Words on one side, what becomes of them on the other. */
export function Editor(props: EditorProps) {
  const { channel, locale, type, eventType, scope, draft, change, sample, changeSample } = props
  const editor = useRef<EditorHandle>(null)
  const { preview, isOld, problem, errors } = usePreview(scope, { draft, sample, channel, locale, eventType: type })
  const set = (changes: Partial<Draft>): void => change({ ...draft, ...changes })
  const bodyError = errors.find(({ path }) => path === '/body')
  return (
    <div className="editing">
      <Stack gap="md">
        <Panel title="Words">
          <div className="inside">
            {hasSubject(channel) && (
              <TextInput
                label={channel === 'email' ? 'Subject' : 'Title'}
                value={draft.subject}
                onChange={({ currentTarget }) => set({ subject: currentTarget.value })}
                error={errors.find(({ path }) => path === '/subject')?.message}
                mb="sm"
              />
            )}
            <CodeField
              label="Body"
              value={draft.body}
              change={(body) => set({ body })}
              isHtml={channel === 'email' && draft.format !== 'text'}
              errorLine={bodyError ? (placeIn(bodyError.message)?.line ?? null) : null}
              handle={editor}
            />
            <Errors errors={errors} problem={problem} goTo={(line, column) => editor.current?.goTo(line, column)} />
            {channel === 'email' && (
              <NativeSelect
                label="Format"
                value={draft.format}
                data={[
                  { value: '', label: 'HTML where it has an element of HTML' },
                  { value: 'html', label: 'HTML' },
                  { value: 'text', label: 'text' },
                ]}
                onChange={({ currentTarget }) => set({ format: currentTarget.value as Draft['format'] })}
                mt="sm"
                w={300}
              />
            )}
            {hasProviderTemplate(channel) && (
              <Textarea
                label="Template of the provider, as JSON"
                description={
                  channel === 'sms'
                    ? 'dltTemplateId, dltEntityId, flowId'
                    : 'name, language, components; text in it is Liquid'
                }
                value={draft.providerTemplate}
                onChange={({ currentTarget }) => set({ providerTemplate: currentTarget.value })}
                error={errors.find(({ path }) => path === '/providerTemplate')?.message}
                autosize
                minRows={1}
                maxRows={14}
                classNames={{ input: 'mono' }}
                mt="sm"
              />
            )}
          </div>
        </Panel>
        <Placeholders
          known={eventType ? knownNames(eventType) : []}
          text={`${draft.subject} ${draft.body} ${draft.providerTemplate}`}
          preview={preview}
          insert={(text) => editor.current?.insert(text)}
        />
      </Stack>
      <Stack gap="md">
        <Preview preview={preview} channel={channel} isOld={isOld} />
        <SamplePanel eventType={eventType} type={type} scope={scope} sample={sample} change={changeSample} />
      </Stack>
    </div>
  )
}

/** What keeps the words from being rendered, each with a way to where it is. */
function Errors({
  errors,
  problem,
  goTo,
}: {
  errors: readonly Problem[]
  problem: string | null
  goTo: (line: number, column: number) => void
}) {
  const inBody = errors.filter(({ path }) => path === '/body' || path === '')
  return (
    <div role="status" aria-label="Problems">
      {problem !== null && <Text style={{ color: 'var(--pbx-bad)' }}>{problem}</Text>}
      {inBody.map(({ message }) => {
        const place = placeIn(message)
        return (
          <Text key={message} style={{ color: 'var(--pbx-bad)' }}>
            {place && (
              <Button size="compact-xs" variant="default" mr={6} onClick={() => goTo(place.line, place.column)}>
                line {place.line}, column {place.column}
              </Button>
            )}
            {withoutPlace(message)}
          </Text>
        )
      })}
    </div>
  )
}

/** A sample to begin with, kept while the page is open. */
export function useSample(eventType: EventType | null): [string, (sample: string) => void] {
  const [typed, setTyped] = useState<string | null>(null)
  return [typed ?? JSON.stringify(eventType ? exampleOf(eventType) : {}, null, 2), setTyped]
}
