import type { Cause } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'

/** Causes, each of which leads to what stopped by it. `search`: what else the list is narrowed by. */
export function CauseTable({
  causes,
  caption,
  search,
}: {
  causes: readonly Cause[]
  caption: string
  search: Record<string, string | undefined>
}) {
  return (
    <table className="rows cards">
      <caption style={{ position: 'absolute', width: 1, height: 1, overflow: 'hidden', clipPath: 'inset(50%)' }}>
        {caption}
      </caption>
      <thead>
        <tr>
          <th scope="col">how many</th>
          <th scope="col">cause</th>
          <th scope="col">channel</th>
          <th scope="col">first</th>
          <th scope="col">last</th>
        </tr>
      </thead>
      <tbody>
        {causes.map(({ fingerprint, count, text, reason, code, channel, firstAt, lastAt }) => (
          <tr key={fingerprint}>
            <td>
              <strong>{count.toLocaleString('en')}</strong>
            </td>
            <td data-wide="">
              <Link to="/notifications" search={{ ...search, fingerprint }} data-row="">
                {text || reason}
              </Link>
              <span style={{ display: 'block', color: 'var(--mantine-color-dimmed)' }}>
                {reason}
                {code !== null && code !== reason && <> · {code}</>}
              </span>
            </td>
            <td>{channelWord(channel)}</td>
            <td data-label="first">
              <When at={firstAt} />
            </td>
            <td data-label="last">
              <When at={lastAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
