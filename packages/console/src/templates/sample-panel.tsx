import { NativeSelect, Text, Textarea } from '@mantine/core'
import type { EventType } from '@pillarbox/client'
import { useState } from 'react'
import type { Scope } from '../app/session.ts'
import { Panel } from '../parts/panel.tsx'
import { exampleOf, newestPayload } from './sample.ts'

interface SamplePanelProps {
  eventType: EventType | null
  type: string
  scope: Scope
  /** JSON. */
  sample: string
  change: (sample: string) => void
}

/** What the words are filled with while they are looked at. */
export function SamplePanel({ eventType, type, scope, sample, change }: SamplePanelProps) {
  const [kind, setKind] = useState('example')
  const [told, tell] = useState<string | null>(null)

  async function take(wanted: string): Promise<void> {
    setKind(wanted)
    tell(null)
    if (wanted === 'nothing') change('{}')
    if (wanted === 'example') change(json(eventType ? exampleOf(eventType) : {}))
    if (wanted !== 'newest') return
    const payload = await newestPayload(scope, type).catch((error: unknown) => {
      tell(error instanceof Error ? error.message : 'It could not be read.')
      return undefined
    })
    if (payload === null) tell('There is no event of this type yet.')
    else if (payload !== undefined) change(json(payload))
  }

  return (
    <Panel title="Sample">
      <div className="inside">
        <NativeSelect
          aria-label="Filled with"
          size="xs"
          value={kind}
          data={[
            { value: 'example', label: 'an example, made from the payload’s schema' },
            { value: 'newest', label: 'what the newest event said' },
            { value: 'nothing', label: 'nothing' },
          ]}
          onChange={({ currentTarget }) => void take(currentTarget.value)}
        />
        {told !== null && (
          <Text size="sm" mt={4} role="status">
            {told}
          </Text>
        )}
        <Textarea
          mt="xs"
          aria-label="Sample, as JSON"
          value={sample}
          onChange={({ currentTarget }) => change(currentTarget.value)}
          autosize
          minRows={4}
          maxRows={16}
          classNames={{ input: 'mono' }}
        />
      </div>
    </Panel>
  )
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
