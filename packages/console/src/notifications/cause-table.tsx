import { Button, Group } from '@mantine/core'
import type { Cause } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { type Act, BULK_ACTS } from '../parts/acts.ts'
import { channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'

interface CauseTableProps {
  causes: readonly Cause[]
  caption: string
  /** What else the list is narrowed by. */
  search: Record<string, string | undefined>
  /** Where something can be done about all that stopped by one. */
  act?: ((act: Act, cause: Cause) => void) | undefined
}

/** What is done about a whole cause, most often after it was mended. */
const ON_CAUSES = BULK_ACTS.filter(({ name }) => name === 'retry' || name === 'discard')

/** Causes, each of which leads to what stopped by it. */
export function CauseTable({ causes, caption, search, act }: CauseTableProps) {
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
          {act && <th scope="col">do</th>}
        </tr>
      </thead>
      <tbody>
        {causes.map((cause) => {
          const { fingerprint, count, text, reason, code, channel, firstAt, lastAt } = cause
          return (
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
              {act && (
                <td data-wide="">
                  <Group gap={6}>
                    {ON_CAUSES.map((each) => (
                      <Button key={each.word} size="compact-xs" variant="default" onClick={() => act(each, cause)}>
                        {each.rerender ? each.word : `${each.word} these ${count.toLocaleString('en')}`}…
                      </Button>
                    ))}
                  </Group>
                </td>
              )}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
