import { Button, Group } from '@mantine/core'
import type { Key } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { Heads } from '../parts/heads.tsx'
import { When } from '../parts/when.tsx'
import { KeyMark, stateOf } from './key-state.tsx'

interface KeyTableProps {
  keys: readonly Key[]
  act: (kind: 'rotate' | 'revoke', key: Key) => void
}

export function KeyTable({ keys, act }: KeyTableProps) {
  return (
    <table className="rows cards">
      <Heads names={['state', 'name', 'role', 'last used', 'expires', 'issued', 'acts']} />
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td>
              <KeyMark of={key} />
            </td>
            <td data-wide="">
              <Link to="/audit" search={{ target: `key:${key.id}` }} data-row="" title="What is on record about it">
                {key.name}
              </Link>
            </td>
            <td>
              {key.role}
              {key.site !== null && ` of ${key.site}`}
              {key.ratePerSecond !== null && `, ${key.ratePerSecond}/s`}
            </td>
            <td data-label="used">{key.lastUsedAt === null ? 'never' : <When at={key.lastUsedAt} />}</td>
            <td data-label="expires">{key.expiresAt === null ? 'never' : <When at={key.expiresAt} />}</td>
            <td data-label="issued">
              <When at={key.createdAt} />
            </td>
            <td>
              {stateOf(key).isGood && (
                <Group gap={6} wrap="nowrap">
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => act('rotate', key)}
                    aria-label={`Rotate ${key.name}`}
                  >
                    Rotate…
                  </Button>
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => act('revoke', key)}
                    aria-label={`Revoke ${key.name}`}
                  >
                    Revoke…
                  </Button>
                </Group>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
