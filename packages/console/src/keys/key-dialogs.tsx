import { Alert, NativeSelect, Text } from '@mantine/core'
import type { IssuedKey, Key } from '@pillarbox/client'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { TypedName } from '../parts/typed-name.tsx'

const OVERLAPS = [
  { value: 'PT1H', label: 'an hour' },
  { value: 'P1D', label: 'a day' },
  { value: 'P7D', label: 'a week' },
  { value: 'P30D', label: '30 days' },
]

interface RotateKeyProps {
  of: Key
  scope: Scope
  close: () => void
  issued: (key: IssuedKey) => void
}

export function RotateKey({ of: { id, name }, scope, close, issued }: RotateKeyProps) {
  const [overlap, setOverlap] = useState('P1D')
  return (
    <AskDialog
      title={`Rotate ${name}`}
      word="Rotate"
      perform={async () => {
        const key = await call<IssuedKey>('POST', `/api/keys/${id}/rotate`, scope.query, { overlap })
        setTimeout(() => issued(key))
        return key
      }}
      done={() => 'Both keys are good until the overlap is over.'}
      close={close}
    >
      <Text mb="sm">
        Another key of the same name and role is issued. The present one goes on working for a while, so that callers
        can change over; “last used” of the two shows when they have.
      </Text>
      <NativeSelect
        label="Both are good for"
        value={overlap}
        data={OVERLAPS}
        onChange={({ currentTarget }) => setOverlap(currentTarget.value)}
      />
    </AskDialog>
  )
}

/** What was used in the last hour is somebody's, now. */
const HOUR_MS = 3_600_000

export function RevokeKey({ of: key, scope, close }: Omit<RotateKeyProps, 'issued'>) {
  const [typed, setTyped] = useState('')
  const isUsed = key.lastUsedAt !== null && Date.now() - Date.parse(key.lastUsedAt) < 2 * HOUR_MS
  return (
    <AskDialog
      title={`Revoke ${key.name}`}
      word="Revoke"
      isReady={typed === key.name}
      perform={() => call('DELETE', `/api/keys/${key.id}`, scope.query)}
      done={() => 'It is refused everywhere within 5 seconds.'}
      close={close}
    >
      {isUsed && (
        <Alert color="red" variant="outline" mb="sm" title="It is in use">
          Somebody called with this key within the last two hours. Whoever has it will be refused at once.
        </Alert>
      )}
      <Text>It opens nothing any more, sessions at the console included. This cannot be taken back.</Text>
      <TypedName wanted={key.name} value={typed} onChange={setTyped} />
    </AskDialog>
  )
}
