import { Link } from '@tanstack/react-router'
import { At } from '../parts/when.tsx'
import type { Step } from './story.ts'

const SIGNS: Record<Step['kind'], { sign: string; tone: string }> = {
  step: { sign: '●', tone: 'calm' },
  good: { sign: '✓', tone: 'good' },
  trouble: { sign: '✕', tone: 'bad' },
  person: { sign: '☻', tone: 'busy' },
  wait: { sign: '┆', tone: 'calm' },
  next: { sign: '◌', tone: 'warn' },
}

export function Timeline({ steps }: { steps: readonly Step[] }) {
  return (
    <ol className="steps">
      {steps.map(({ at, kind, what, detail, event }) => (
        <li key={`${at} ${what}`} data-kind={kind}>
          <span
            aria-hidden="true"
            style={{ color: `var(--pbx-${SIGNS[kind].tone})`, textAlign: 'center', fontWeight: 700 }}
          >
            {SIGNS[kind].sign}
          </span>
          <div>
            {event === undefined ? (
              what
            ) : (
              <Link to="/events/$id" params={{ id: event }}>
                {what}
              </Link>
            )}
            {detail !== undefined && (
              <div style={{ color: 'var(--mantine-color-dimmed)', overflowWrap: 'anywhere' }}>{detail}</div>
            )}
            {kind !== 'wait' && kind !== 'next' && (
              <div style={{ color: 'var(--mantine-color-dimmed)', fontSize: 'var(--mantine-font-size-xs)' }}>
                <At at={at} />
              </div>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}
