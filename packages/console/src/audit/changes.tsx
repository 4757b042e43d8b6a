type Facts = Record<string, unknown> | null

/** What of something was changed, line by line: how it stood before, and how it stands after. */
export function Changes({ before, after }: { before: Facts; after: Facts }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const changed = names.filter((name) => words(before?.[name]) !== words(after?.[name]))
  if (changed.length === 0) return null
  return (
    <details>
      <summary>
        {changed.length} {changed.length === 1 ? 'change' : 'changes'}
      </summary>
      <dl className="facts" style={{ marginTop: 4 }}>
        {changed.map((name) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd className="mono">
              {before?.[name] !== undefined && before[name] !== null && (
                <del style={{ color: 'var(--pbx-bad)' }}>− {words(before[name])}</del>
              )}{' '}
              {after?.[name] !== undefined && after[name] !== null && (
                <ins style={{ color: 'var(--pbx-good)', textDecoration: 'none' }}>+ {words(after[name])}</ins>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function words(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
