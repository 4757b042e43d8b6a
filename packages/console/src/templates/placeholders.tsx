import { Text, UnstyledButton } from '@mantine/core'
import type { TemplatePreview } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'
import { Panel } from '../parts/panel.tsx'

type Standing = 'used' | 'missing' | 'unknown' | 'unused'

const LOOKS: Record<Standing, Look> = {
  used: { tone: 'good', shape: SHAPES.tick, means: 'The template uses it, and the sample has it.' },
  missing: { tone: 'warn', shape: SHAPES.hand, means: 'The template uses it, and the sample does not have it.' },
  unknown: { tone: 'bad', shape: SHAPES.cross, means: 'No event of this type has it.' },
  unused: { tone: 'calm', shape: SHAPES.ring, means: 'Events of this type have it; the template does not use it.' },
}

interface PlaceholdersProps {
  known: readonly string[]
  /** Everything that is typed. */
  text: string
  preview: TemplatePreview | null
  insert: (text: string) => void
}

/** What can be filled in, and what the template would fill in that nobody has. */
export function Placeholders({ known, text, preview, insert }: PlaceholdersProps) {
  const unknown = preview?.unknown ?? []
  const missing = (preview?.missing ?? []).filter((key) => !unknown.includes(key))
  const doubts = (preview?.warnings ?? []).filter(({ code }) => code === 'unknown_placeholder')
  const hints = new Map(doubts.map(({ key, message }) => [key, message]))
  const rows: { key: string; standing: Standing }[] = [
    ...unknown.map((key) => ({ key, standing: 'unknown' as const })),
    ...missing.map((key) => ({ key, standing: 'missing' as const })),
    ...known
      .filter((key) => !missing.includes(key))
      .map((key) => ({ key, standing: isUsed(key, text) ? ('used' as const) : ('unused' as const) })),
  ]
  return (
    <Panel title="Placeholders">
      <ul className="placeholders">
        {rows.map(({ key, standing }) => (
          <li key={key}>
            <UnstyledButton onClick={() => insert(`{{${key}}}`)} title={`Insert {{${key}}}`} className="mono">
              {key}
            </UnstyledButton>
            <Mark look={LOOKS[standing]} word={standing} />
            {standing === 'unknown' && (
              <Text size="xs" c="dimmed" style={{ flexBasis: '100%' }}>
                {hints.get(key)}
              </Text>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** Whether what is between braces speaks of it. */
function isUsed(key: string, text: string): boolean {
  const inBraces = text.match(/\{[{%][^}]*\}/g)?.join(' ') ?? ''
  const escaped = key.replaceAll('.', '\\.')
  return new RegExp(`(^|[^\\w.])${escaped}($|[^\\w])`).test(inBraces)
}
