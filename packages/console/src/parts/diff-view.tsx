import { diffOf } from './diff.ts'

const SIGNS = { same: ' ', gone: '−', new: '+' } as const
const WORDS = { same: '', gone: 'removed', new: 'added' } as const

/** Two texts beside each other as one: what went, what came, what stayed. */
export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = diffOf(before, after)
  if (lines.every(({ kind }) => kind === 'same')) return <p className="note">{label}: the same.</p>
  return (
    <figure className="diff">
      <figcaption>{label}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre className="said mono" tabIndex={0}>
        {lines.map(({ kind, text, number }) => (
          <div key={`${kind} ${number}`} data-kind={kind}>
            <span aria-hidden="true">{SIGNS[kind]} </span>
            {kind !== 'same' && <span className="unseen">{WORDS[kind]}: </span>}
            {text === '' ? ' ' : text}
          </div>
        ))}
      </pre>
    </figure>
  )
}
