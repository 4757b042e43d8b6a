import { SegmentedControl, Text } from '@mantine/core'
import type { Channel, TemplatePreview } from '@pillarbox/client'
import { useState } from 'react'
import { Words } from '../notification/content.tsx'
import { HtmlFrame } from '../parts/html-frame.tsx'
import { Panel } from '../parts/panel.tsx'

const FORMS = ['desktop', 'phone', 'source'] as const

/** The words as their recipient would see them. Greyed while what is typed cannot be read, or is not rendered yet. */
export function Preview({
  preview,
  channel,
  isOld,
}: {
  preview: TemplatePreview | null
  channel: Channel
  isOld: boolean
}) {
  const [form, setForm] = useState<string>('desktop')
  return (
    <Panel
      title="Preview"
      aside={
        preview?.isHtml && (
          <SegmentedControl size="xs" aria-label="Shown as" value={form} data={[...FORMS]} onChange={setForm} />
        )
      }
    >
      <div className="inside" data-old={isOld ? '' : undefined}>
        {preview === null ? (
          <Text c="dimmed">What is written appears here as it would be sent.</Text>
        ) : (
          <>
            {preview.subject !== null && (
              <Text fw={600} mb="xs" style={{ overflowWrap: 'anywhere' }}>
                {preview.subject}
              </Text>
            )}
            {!preview.isHtml ? (
              <Words channel={channel} body={preview.body} />
            ) : form === 'source' ? (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
              <pre className="said mono" tabIndex={0}>
                {preview.body}
              </pre>
            ) : (
              <HtmlFrame html={preview.body} title="The message as its recipient sees it" isNarrow={form === 'phone'} />
            )}
            {preview.segments && <Segments segments={preview.segments} />}
            {preview.providerTemplate && (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
              <pre className="said mono" tabIndex={0} style={{ marginTop: 8 }}>
                {JSON.stringify(preview.providerTemplate, null, 2)}
              </pre>
            )}
          </>
        )}
      </div>
    </Panel>
  )
}

function Segments({ segments: of }: { segments: NonNullable<TemplatePreview['segments']> }) {
  const { segments, encoding, units, remaining, forcedBy } = of
  return (
    <Text size="sm" mt="xs" fw={segments > 1 ? 600 : 400}>
      {segments} segment{segments === 1 ? '' : 's'}, {encoding}: {units} characters, room for {remaining} more
      {forcedBy.length > 0 && `. Long because of ${forcedBy.join(' ')}`}
    </Text>
  )
}
