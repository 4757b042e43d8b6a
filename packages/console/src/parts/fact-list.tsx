import type { ReactNode } from 'react'

/** What is known of something. What is not known is left out. */
export function FactList({ facts }: { facts: Record<string, ReactNode> }) {
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
